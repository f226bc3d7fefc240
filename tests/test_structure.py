"""The shape of the project: who imports whom, what belongs to what, and how large things are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from millstream.operators import OPERATORS
from millstream.rules import OTHER_WAY, RULES

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "millstream"
GOLDEN = ROOT / "golden"
FILES = sorted(SOURCE.rglob("*.py"))

ORDER = (
    "errors",
    "columns",
    "algebra",
    "state",
    "aggregates",
    "lang",
    "operators",
    "settings",
    "catalog",
    "bind",
    "rules",
    "plan",
    "connect",
    "engine",
    "database",
    "local",
    "spark",
    "testing",
    "api",
    "cli",
)
"""A package imports only from those before it."""

LONGEST_FILE = 500
LONGEST_FUNCTION = 60
HELPERS = {"keyed", "counted"}
"""Files in operators/ that hold what several operators share."""


RULE_HELPERS = {"pieces", "sizes"}
"""Files in rules/ that hold what several rules share."""


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def package_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(node: ast.AST) -> list[str]:
    """The modules that an import statement names."""
    match node:
        case ast.ImportFrom(module=str(module), level=0, names=names):
            return [f"{module}.{n.name}" if module == "millstream" else module for n in names]
        case ast.Import(names=names):
            return [n.name for n in names]
    return []


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_go_one_way(path):
    package = package_of(path)
    if path == SOURCE / "__init__.py":
        return
    assert package in ORDER, f"{package} has no place in the order of packages"
    allowed = {*ORDER[: ORDER.index(package)], package}
    for node in ast.walk(ast.parse(path.read_text())):
        for module in imports_of(node):
            top, _, rest = module.partition(".")
            if top == "millstream":
                used = rest.split(".")[0]
                assert used in allowed, f"{package} imports {used} (line {node.lineno})"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_only_the_spark_host_imports_pyspark(path):
    """The interface and the command line may, once they are asked for Spark: in a function."""
    package = package_of(path)
    if package == "spark":
        return
    tree = ast.parse(path.read_text())
    late = {
        id(inner)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for inner in ast.walk(function)
    }
    typing = {
        id(inner)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)
        for inner in ast.walk(block)
    }
    for node in ast.walk(tree):
        for module in imports_of(node):
            if module.split(".")[0] == "pyspark" or module.startswith("millstream.spark"):
                where = f"line {node.lineno} of {name_of(path)} imports {module}"
                assert package in ("api", "cli"), where
                assert id(node) in late | typing, f"{where} before it is needed"


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)
def test_operator_has_a_golden_file_and_words(operator):
    assert (GOLDEN / "operators" / f"{snake(operator.__name__)}.test").exists()
    assert operator.__doc__ and not operator.__doc__.startswith(f"{operator.__name__}("), operator


def test_every_operator_is_listed():
    defined = {
        node.name
        for path in (SOURCE / "operators").glob("*.py")
        if path.stem not in HELPERS
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and {ast.unparse(b) for b in node.bases} & BASES
    }
    assert defined - SHARED == {operator.__name__ for operator in OPERATORS}


SHARED = {"Differences", "Paired", "Matched"}
"""What two operators have in common; no operators by themselves."""

BASES = {"Node"} | SHARED


def test_golden_operators_are_operators():
    names = {snake(operator.__name__) for operator in OPERATORS}
    assert {path.stem for path in (GOLDEN / "operators").glob("*.test")} == names


def test_every_rule_has_a_file_a_line_and_a_golden_file():
    files = {path.stem for path in (SOURCE / "rules").glob("*.py")} - {"__init__"} - RULE_HELPERS
    assert files == {rule.__name__ for rule in (*RULES, *OTHER_WAY)}
    assert files == {path.stem for path in (GOLDEN / "rules").glob("*.test")}


@pytest.mark.parametrize("rule", (*RULES, *OTHER_WAY), ids=lambda rule: rule.__name__)
def test_rule_is_a_law_with_a_reason(rule):
    assert "Sound because" in (rule.__doc__ or "")
    text = (GOLDEN / "rules" / f"{rule.__name__}.test").read_text()
    assert text.count(f"rule {rule.__name__}\n") >= 2
    assert "\nno change\n" in text, "a case in which the rule must not fire"


@pytest.mark.parametrize("path", sorted((SOURCE / "connect").glob("*_source.py")), ids=name_of)
def test_source_has_a_test(path):
    if path.stem != "text_source":
        assert (ROOT / "tests" / "connect" / f"test_{path.stem}.py").exists()


def test_sinks_and_generator_have_tests():
    assert (ROOT / "tests" / "connect" / "test_sinks.py").exists()
    assert (ROOT / "tests" / "connect" / "test_generator.py").exists()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_and_functions_are_small(path):
    text = path.read_text()
    assert text.count("\n") <= LONGEST_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_module_says_what_it_is_in_a_line(path):
    text = path.read_text()
    assert not text.strip() or ast.get_docstring(ast.parse(text))
    assert "TODO" not in text and "FIXME" not in text

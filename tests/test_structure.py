"""The shape of the project: who imports whom, what belongs to what, and how large things are."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from docs.figure_of_layers import FIGURE
from docs.layers import (
    ROOT,
    SOURCE,
    edges,
    folders_in_order,
    imported,
    imports_of,
    layers,
    modules,
    package_of,
)
from millstream.connect import CONNECTORS
from millstream.operators import OPERATORS
from millstream.rules import OTHER_WAY, RULES

GOLDEN = ROOT / "golden"
FILES = sorted(SOURCE.rglob("*.py"))
LAYERS = layers()
"""The packages by their place in docs/design/layers.md; one imports only from those above it."""

LONGEST_FILE = 400
"""In lines; a longer file has a line in its docstring that begins with `Long because`."""


LONGEST_FUNCTION = 60
HELPERS = {"keyed", "counted"}
"""Files in operators/ that hold what several operators share."""


RULE_HELPERS = {"contained_points", "instants_of_rows", "pieces", "sizes", "whole"}
"""Files in rules/ that hold what several rules share."""


def name_of(path: Path) -> str:
    return str(path.relative_to(SOURCE))


def snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def test_every_package_has_a_layer():
    assert {package_of(module) for module in modules()} == set(LAYERS)


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_go_up_the_table_of_layers(path):
    own = package_of(path)
    for name, line in imported(path):
        package = name.split(".")[0]
        if package != own:
            assert LAYERS[package] < LAYERS[own], f"{own} imports {name} (line {line})"


def test_folders_of_tests_mirror_the_packages():
    folders = {path.name for path in (ROOT / "tests").iterdir() if any(path.glob("*.py"))}
    assert folders - set(LAYERS) == {"docs", "examples", "golden", "laws", "oracle"}


@pytest.mark.parametrize("package", ["bind", "lang"])
def test_folders_of_a_package_are_in_order(package):
    """A folder imports only from those that the docstring of its package lists before it."""
    folder = SOURCE / package
    order = folders_in_order(folder)
    assert order and set(order) == {p.parent.name for p in folder.glob("*/__init__.py")}
    for at, name in enumerate(order):
        for path in (folder / name).glob("*.py"):
            for used, line in imported(path):
                later = [n for n in order[at + 1 :] if used.startswith(f"{package}.{n}")]
                assert not later, f"{name_of(path)} imports {used} (line {line})"


def test_the_figure_of_layers_is_up_to_date():
    """Names and arrows only: lines of code may differ."""
    drawn = FIGURE.read_text()
    shown = set(re.findall(r"<title>(\w+) imports (\w+)</title>", drawn))
    assert shown == set(edges()), "run: make figures"
    assert set(re.findall(r'text-anchor="end">(\w+)<', drawn)) == set(LAYERS), "run: make figures"


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


SHARED = {"Differences", "GroupsAnew", "Paired", "Matched"}
"""What two operators have in common; no operators by themselves."""

BASES = {"Node", "TopK"} | SHARED


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


@pytest.mark.parametrize("path", sorted((SOURCE / "connect").rglob("*_source.py")), ids=name_of)
def test_source_has_a_test(path):
    if path.stem != "text_source":
        assert (ROOT / "tests" / "connect" / f"test_{path.stem}.py").exists()


def test_a_family_of_sources_is_a_folder_and_a_line():
    folders = {path.parent.name for path in (SOURCE / "connect").glob("*/__init__.py")}
    assert folders == {connector.family for connector in CONNECTORS}


@pytest.mark.parametrize("connector", CONNECTORS, ids=lambda connector: connector.family)
def test_every_option_is_explained(connector):
    for options in connector.options:
        for option in options.declared:
            assert option.meaning and option.kind.read(option.example) is not None
            assert (option.default is None) == bool(option.otherwise), option.name


def test_sinks_and_generator_have_tests():
    assert (ROOT / "tests" / "connect" / "test_sinks.py").exists()
    assert (ROOT / "tests" / "connect" / "test_generator.py").exists()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_and_functions_are_small(path):
    text = path.read_text()
    reason = re.search(r"^Long because ", ast.get_docstring(ast.parse(text)) or "", re.MULTILINE)
    assert text.count("\n") <= LONGEST_FILE or reason
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            reason = "Long because " in (ast.get_docstring(node) or "")
            assert length <= LONGEST_FUNCTION or reason, f"{node.name} has {length} lines"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_module_says_what_it_is_in_a_line(path):
    text = path.read_text()
    assert not text.strip() or ast.get_docstring(ast.parse(text))
    assert "TODO" not in text and "FIXME" not in text

"""The packages in the order of docs/design/layers.md, and what imports what.

The table of that page is the one list of layers: `test_structure.py` enforces it, and
`figure_of_layers.py` draws it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "millstream"
ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \|", re.MULTILINE)


def layers() -> dict[str, int]:
    """The place of every package in the table, counted from the top."""
    rows = ROW.findall((ROOT / "docs" / "design" / "layers.md").read_text())
    return {name: place for place, row in enumerate(rows) for name in re.findall(r"\w+", row)}


def modules() -> list[Path]:
    """All modules but the one that names the public interface."""
    return [p for p in sorted(SOURCE.rglob("*.py")) if p != SOURCE / "__init__.py"]


def package_of(module: Path) -> str:
    return module.relative_to(SOURCE).parts[0].removesuffix(".py")


def imports_of(node: ast.AST) -> list[str]:
    """The modules that an import statement names."""
    match node:
        case ast.ImportFrom(module=str(module), level=0, names=names):
            return [f"{module}.{n.name}" if module == "millstream" else module for n in names]
        case ast.Import(names=names):
            return [n.name for n in names]
    return []


def imported(module: Path) -> list[tuple[str, int]]:
    """The modules of this project that a module imports, wherever in it, with their lines."""
    return [
        (name.removeprefix("millstream."), node.lineno)
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in imports_of(node)
        if name.startswith("millstream.")
    ]


def edges() -> Counter[tuple[str, str]]:
    """(package, imported package), with the number of modules in which that happens."""
    found: Counter[tuple[str, str]] = Counter()
    for module in modules():
        own = package_of(module)
        used = {name.split(".")[0] for name, _ in imported(module)} - {own}
        found.update((own, package) for package in used)
    return found


def folders_in_order(package: Path) -> list[str]:
    """The folders that the docstring of a package lists, each on a line of its own, in order."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or ""
    listed = re.findall(r"^    (\w+)  ", text, re.MULTILINE)
    return [name for name in listed if (package / name).is_dir()]

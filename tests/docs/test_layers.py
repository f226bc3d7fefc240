"""Imports go in one direction: up the table of docs/design/layers.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.examples import ROOT

SOURCE = ROOT / "src" / "millstream"
ROW = re.compile(r"^\| ((?:`\w+`(?:, )?)+) \|", re.MULTILINE)


def layers() -> dict[str, int]:
    """The place of every package in the table, counted from the top."""
    rows = ROW.findall((ROOT / "docs" / "design" / "layers.md").read_text())
    return {name: place for place, row in enumerate(rows) for name in re.findall(r"\w+", row)}


def modules() -> list[Path]:
    return [p for p in sorted(SOURCE.rglob("*.py")) if p != SOURCE / "__init__.py"]


def package_of(module: Path) -> str:
    return module.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(module: Path) -> Iterator[str]:
    """The packages a module imports from, wherever in the module."""
    for node in ast.walk(ast.parse(module.read_text())):
        names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        yield from (name for name in names)


def test_every_package_has_a_layer() -> None:
    assert {package_of(module) for module in modules()} == set(layers())


@pytest.mark.parametrize("module", modules(), ids=lambda m: str(m.relative_to(SOURCE)))
def test_imports_go_up(module: Path) -> None:
    order, own = layers(), package_of(module)
    for name in imported(module):
        package = name.removeprefix("millstream.").partition(".")[0]
        if name.startswith("millstream.") and package != own:
            assert order[package] < order[own], f"{own} imports {name}"


def test_only_spark_imports_pyspark() -> None:
    allowed = {"spark", "api"}  # the public interface names Spark's types in its signatures
    users = {package_of(m) for m in modules() for name in imported(m) if name.startswith("pyspark")}
    assert users <= allowed

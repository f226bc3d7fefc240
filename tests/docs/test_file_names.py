"""Every file and folder that the documents name in code font is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.layers import ROOT, SOURCE

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/**/*.md")])
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|md|svg|test)|(?:[\w.-]+/)+)`")
MADE_BY_RUNS = {"checkpoint", "bench-out", "demo-out", "answers", ".venv"}


def names_in(page: Path) -> list[str]:
    """Names of files, and of folders of this project; `x` stands for any name, and `shift` is the
    operator of docs/design/adding-an-operator.md, which a test adds and removes."""
    found = NAME.findall(FENCE.sub("", page.read_text()))
    return [
        name
        for name in dict.fromkeys(found)
        if Path(name).stem not in ("x", "shift") and name.split("/")[0] not in MADE_BY_RUNS
    ]


def is_there(name: str, page: Path) -> bool:
    if any((base / name).exists() for base in (ROOT, SOURCE, page.parent)):
        return True
    if "/" in name:
        return False
    return any(found for top in ("src", "tests", "bench") for found in (ROOT / top).rglob(name))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_that_a_page_names_are_there(page: Path) -> None:
    if page.name == "CHANGELOG.md":
        return  # it speaks of what was there once
    missing = [name for name in names_in(page) if not is_there(name, page)]
    assert not missing, f"{page.name} names {', '.join(missing)}"


def test_names_are_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`engine/x.py`, `plan/no_such.py` and `docs/` are names; `a / b` is none.\n")
    assert names_in(page) == ["plan/no_such.py", "docs/"]
    assert not is_there("plan/no_such.py", page) and is_there("plan/graph.py", page)

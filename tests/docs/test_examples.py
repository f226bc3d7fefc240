"""Every example of the README and of the manual gives what it shows."""

from __future__ import annotations

import re

import pytest

from docs.examples import ROOT, Example, examples, pages

ALL = [example for page in pages() for example in examples(page)]


@pytest.mark.parametrize("example", ALL, ids=str)
def test_example(example: Example) -> None:
    example.check()


def test_there_are_examples_on_every_page_of_the_reference() -> None:
    shown = {example.page for example in ALL}
    reference = set((ROOT / "docs" / "language").glob("*.md"))
    assert reference - shown == {ROOT / "docs" / "language" / "README.md"}


LINKING = [*pages(), *sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("examples/**/*.md"))]


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page) -> None:
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", LINKING, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_to_headings_lead_somewhere(page) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]*)\)", page.read_text()):
        if (path := page.parent / target if target else page).suffix == ".md":
            assert anchor in _anchors(path), f"{page.name} links to {target}#{anchor}"


def _anchors(page) -> set[str]:
    """The anchors that a page has: its headings in lower case, with hyphens for spaces."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

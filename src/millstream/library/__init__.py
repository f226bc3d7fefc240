"""The aggregates that come with the system, written in its own language, a file each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from itertools import takewhile

from millstream.bind.blocks import routines_from_text
from millstream.blocks.versions import Versions

ENDING = ".sql"


class Library(Mapping[str, Versions]):
    """Every aggregate by its name; a definition is read when it is first asked for."""

    def __getitem__(self, name: str) -> Versions:
        if name not in _names():
            raise KeyError(name)
        return _versions(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_names())

    def __len__(self) -> int:
        return len(_names())


LIBRARY = Library()


def text_of(name: str) -> str:
    """The definitions of a name, as they are written."""
    return (files(__package__) / f"{name}{ENDING}").read_text(encoding="utf-8")


def meaning_of(name: str) -> str:
    """What an aggregate computes: the comment that its file begins with.

    >>> meaning_of("cumulative_avg")
    'The mean of all values so far.'
    """
    lines = takewhile(lambda line: line.startswith("--"), text_of(name).splitlines())
    return " ".join(line.removeprefix("--").strip() for line in lines)


@cache
def _names() -> tuple[str, ...]:
    found = (entry.name for entry in files(__package__).iterdir())
    return tuple(sorted(name.removesuffix(ENDING) for name in found if name.endswith(ENDING)))


@cache
def _versions(name: str) -> Versions:
    versions = Versions()
    for routine in routines_from_text(text_of(name)):
        versions = versions.with_version(routine)
    return versions

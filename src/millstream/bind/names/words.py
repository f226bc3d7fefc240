"""Words of the script that the syntax tree keeps no place of, and names that cannot be given."""

from __future__ import annotations

import re

from millstream.errors import MillstreamError, Place

SUFFIXES = (".late", ".errors", ".changes")
LONGEST_NAME = 200


def find_word(word: str, text: str, start: int, backwards: bool = False) -> Place | None:
    """The next place of a keyword from a position on, or the last one before it."""
    spaced = r"\s+".join(map(re.escape, word.split()))
    pattern = re.compile(rf"\b{spaced}\b", re.IGNORECASE)
    if not backwards:
        found = pattern.search(text, start)
    else:
        found = None
        for found in pattern.finditer(text, 0, start):  # noqa: B007
            pass
    return Place(text, found.start(), found.end()) if found else None


def check_name(name: str, kind: str, place: Place | None) -> None:
    """Refuse a name that the system needs for itself."""
    if name.startswith("#"):
        raise MillstreamError(
            f'{kind} "{name}" cannot begin with #',
            place,
            detail="Such names are kept for the system.",
            hint=f'Write "{name.lstrip("#") or "name"}".',
        )
    if len(name.encode()) > LONGEST_NAME:
        raise MillstreamError(
            f"the name of a {kind} cannot be longer than {LONGEST_NAME} bytes",
            place,
            hint="Shorten it.",
        )


def check_result_name(name: str, kind: str, place: Place | None) -> None:
    """Refuse a name that cannot become the name of a file with results."""
    check_name(name, kind, place)
    odd = next((c for c in name if c in "/\\" or not c.isprintable()), None)
    if odd is not None:
        raise MillstreamError(
            f'{kind} "{name}" cannot have the character {odd!r} in its name',
            place,
            detail="Results are written to files of that name.",
            hint="Use - or _ instead.",
        )
    if name.lower().endswith(SUFFIXES):
        raise MillstreamError(
            f'the name of {kind} "{name}" cannot end in .{name.rpartition(".")[2]}',
            place,
            detail="Late rows, bad rows and changes are written to files of such names.",
            hint=f'Write "{name.replace(".", "_")}".',
        )

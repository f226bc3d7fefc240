"""The names of types, and the canonical name of each."""

from __future__ import annotations

from millstream.errors import MillstreamError, closest

CANONICAL = {
    "tinyint": "tinyint",
    "byte": "tinyint",
    "smallint": "smallint",
    "short": "smallint",
    "int": "int",
    "integer": "int",
    "bigint": "bigint",
    "long": "bigint",
    "real": "real",
    "float": "float",
    "double": "double",
    "double precision": "double",
    "decimal": "decimal",
    "numeric": "decimal",
    "dec": "decimal",
    "char": "char",
    "character": "char",
    "varchar": "varchar",
    "character varying": "varchar",
    "string": "string",
    "text": "string",
    "boolean": "boolean",
    "bool": "boolean",
    "timestamp": "timestamp",
    "datetime": "timestamp",
    "timestamptz": "timestamp",
    "timestamp_ntz": "timestamp",
    "timestamp_ltz": "timestamp",
    "date": "date",
    "interval": "interval",
}
INSTANTS = ("timestamptz", "timestamp_ltz")
"""Types of instants elsewhere, which are shown in some zone; here every timestamp is UTC."""

AS_TEXT = "Declare it string: "
ELSEWHERE = {
    **dict.fromkeys(("array", "list"), f"{AS_TEXT}a list is read as JSON text."),
    **dict.fromkeys(
        ("struct", "row", "map", "object"),
        f'{AS_TEXT}it is read as JSON text. A field of it is a column of its own: "item.price" '
        "double.",
    ),
    **dict.fromkeys(("json", "jsonb", "variant"), f"{AS_TEXT}it is read as JSON text."),
    **dict.fromkeys(
        ("binary", "varbinary", "bytea", "bytes", "blob"),
        f"{AS_TEXT}bytes are read as text in UTF-8.",
    ),
    **dict.fromkeys(("uuid", "time", "enum"), f"{AS_TEXT}it is read as text."),
}
"""Types of other systems, and what is declared here in their place."""

SECOND_WORDS = {"double": "precision", "character": "varying"}
MOST_DIGITS = 38
MOST_FRACTION = 6


def canonical_type(name: str, sizes: tuple[int, ...] = ()) -> str:
    """The one text for a type and its sizes; char and varchar without a size are strings.

    A timestamp has all six digits, however many were asked for.

    >>> canonical_type("NUMERIC", (10, 2)), canonical_type("Integer"), canonical_type("varchar")
    ('decimal(10,2)', 'int', 'string')
    """
    canonical = CANONICAL.get(name.lower())
    if name.lower() in ELSEWHERE:
        raise MillstreamError(
            f"type {name.lower()} is not part of the language", hint=ELSEWHERE[name.lower()]
        )
    if canonical is None:
        near = closest(name, tuple(CANONICAL))
        raise MillstreamError(
            f'type "{name}" does not exist',
            hint=f"Did you mean {near}?" if near else f"Types are {', '.join(_main_types())}.",
        )
    if canonical == "decimal":
        return _decimal(sizes)
    if canonical in ("char", "varchar"):
        return _text(canonical, sizes)
    if canonical == "timestamp":
        return _timestamp(sizes)
    if sizes:
        raise MillstreamError(f"type {canonical} takes no size", hint=f"Write {canonical}.")
    return canonical


def _decimal(sizes: tuple[int, ...]) -> str:
    digits, scale = (*sizes, *(10, 0)[len(sizes) :])[:2]
    if len(sizes) > 2 or not 1 <= digits <= MOST_DIGITS or scale > digits:
        raise MillstreamError(
            f"decimal({','.join(map(str, sizes))}) does not exist",
            hint=f"Write decimal(p,s) with p from 1 to {MOST_DIGITS} and s from 0 to p.",
        )
    return f"decimal({digits},{scale})"


def _text(canonical: str, sizes: tuple[int, ...]) -> str:
    if not sizes:
        return "string"
    if len(sizes) > 1 or sizes[0] < 1:
        raise MillstreamError(
            f"{canonical}({','.join(map(str, sizes))}) does not exist",
            hint=f"Write {canonical}(n) with one length of at least 1.",
        )
    return f"{canonical}({sizes[0]})"


def _timestamp(sizes: tuple[int, ...]) -> str:
    if len(sizes) > 1 or any(size > MOST_FRACTION for size in sizes):
        raise MillstreamError(
            f"timestamp({','.join(map(str, sizes))}) does not exist",
            hint="Write timestamp: it has microseconds, six digits after the second.",
        )
    return "timestamp"


def _main_types() -> list[str]:
    return [name for name, canonical in CANONICAL.items() if name == canonical]

"""Golden files as text: blocks with a header, rows of cells, and what is expected of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

Cell = str | None
Row = tuple[Cell, ...]

DEFINITIONS = ("file", "script", "query")
STEPS = ("feed", "heartbeat", "clock", "restart", "end")
CHECKS = ("error", "print", "rule")
MARK = "----"


class GoldenError(Exception):
    """A golden file that is not written as it should be, with its file and line."""


@dataclass(frozen=True)
class Block:
    """A paragraph of a golden file: `kind words`, its body, and the parts expected after `----`.

    `lines` is the text as it stands, comments and all, so that a file can be written again.
    """

    kind: str
    words: str
    body: tuple[str, ...]
    expected: tuple[tuple[str, tuple[str, ...]], ...] | None
    place: str
    lines: tuple[str, ...] = field(repr=False, default=())

    @property
    def text(self) -> str:
        return "\n".join(self.body)

    @property
    def expected_text(self) -> str:
        return "\n".join(line for _, lines in self.expected or () for line in lines)

    def with_expected(self, parts: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
        """The lines of the block with other expectations."""
        marks = [i for i, line in enumerate(self.lines) if _is_mark(line)]
        kept = self.lines[: marks[0]] if marks else self.lines
        added = [line for name, lines in parts for line in (f"{MARK} {name}".rstrip(), *lines)]
        return (*kept, *added)


@dataclass(frozen=True)
class GoldenFile:
    """All blocks of a file, in order; a paragraph of nothing but comments has no kind."""

    path: str
    blocks: tuple[Block, ...]

    def of(self, *kinds: str) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if block.kind in kinds)

    @property
    def names(self) -> frozenset[str]:
        """The results that are named somewhere after `----`."""
        return frozenset(n for b in self.of(*STEPS) for n, _ in b.expected or () if n)


@dataclass(frozen=True)
class Target:
    """What a feed is for: `STREAM [in PARTITION] [at TIME]`."""

    name: str
    partition: str | None
    time: str

    @staticmethod
    def of(words: str) -> Target:
        """
        >>> Target.of("bids in north at 10:00").partition
        'north'
        """
        before, _, time = words.partition(" at ")
        name, _, partition = before.partition(" in ")
        return Target(name.strip(), partition.strip() or None, time.strip())


def partitions_of(file: GoldenFile, stream: str) -> list[str]:
    """The partitions in which a file feeds a stream; none when it is one sequence."""
    fed = [Target.of(block.words) for block in file.of("feed")]
    found = {f.partition for f in fed if f.partition and f.name.lower() == stream.lower()}
    return sorted(found)


def read_golden(path: str | Path) -> GoldenFile:
    return parse_golden(Path(path).read_text(encoding="utf-8"), str(path))


def parse_golden(text: str, path: str = "golden") -> GoldenFile:
    """Cut a file into blocks at its blank lines; lines that begin with # are comments."""
    blocks, lines = [], []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.strip():
            lines.append(line.rstrip())
        elif lines:
            blocks.append(_block(lines, f"{path}:{number - len(lines)}"))
            lines = []
    return _checked(GoldenFile(path, tuple(blocks)))


def split_row(line: str, place: str) -> Row:
    """The cells of a row: an empty one is NULL, one in single quotes is text as it stands.

    >>> split_row("1 | a b |  | ''", "here")
    ('1', 'a b', None, '')
    """
    cells: list[Cell] = []
    for match in re.finditer(r"\s*('(?:[^']|'')*'|[^|]*?)\s*(\||$)", line):
        text = match.group(1)
        quoted = len(text) > 1 and text[0] == text[-1] == "'"
        cells.append(text[1:-1].replace("''", "'") if quoted else text or None)
        if match.group(2) == "":
            return tuple(cells)
    raise GoldenError(f"{place}: the row cannot be cut into cells: {line}")


def join_rows(rows: Sequence[Row]) -> list[str]:
    """Rows as lines, their cells one below the other.

    >>> join_rows([("1", "kitchen", None), ("10", "", "x")])
    ['1  | kitchen |', "10 | ''      | x"]
    """
    texts = [[_cell_text(cell) for cell in row] for row in rows]
    widths: dict[int, int] = {}
    for row in texts:
        for i, text in enumerate(row):
            widths[i] = max(widths.get(i, 0), len(text))
    return [" | ".join(t.ljust(widths[i]) for i, t in enumerate(row)).rstrip() for row in texts]


def _cell_text(cell: Cell) -> str:
    if cell is None:
        return ""
    odd = cell == "" or cell != cell.strip() or "|" in cell or cell[0] in "'#"
    return "'" + cell.replace("'", "''") + "'" if odd else cell


def _block(lines: list[str], place: str) -> Block:
    said = [line for line in lines if not line.startswith("#")]
    if not said:
        return Block("", "", (), None, place, tuple(lines))
    kind, _, words = said[0].partition(" ")
    marks = [i for i, line in enumerate(said) if _is_mark(line)]
    body = tuple(said[1 : marks[0]] if marks else said[1:])
    ends = [*marks[1:], len(said)]
    parts = tuple(
        (said[mark][len(MARK) :].strip(), tuple(said[mark + 1 : end]))
        for mark, end in zip(marks, ends)
    )
    return Block(kind, words.strip(), body, parts if marks else None, place, tuple(lines))


def _is_mark(line: str) -> bool:
    return line == MARK or line.startswith(MARK + " ")


def _checked(file: GoldenFile) -> GoldenFile:
    begun = ended = False
    for block in file.blocks:
        if block.kind not in ("", *DEFINITIONS, *STEPS, *CHECKS):
            known = ", ".join((*DEFINITIONS, *STEPS, *CHECKS))
            raise GoldenError(f'{block.place}: "{block.kind}" is none of {known}')
        if begun and block.kind in DEFINITIONS:
            raise GoldenError(f"{block.place}: {block.kind} stands after the first feed")
        if ended and block.kind in STEPS:
            raise GoldenError(f"{block.place}: {block.kind} stands after end")
        if block.kind in CHECKS and block.expected is None:
            raise GoldenError(f"{block.place}: {block.kind} needs {MARK} and what it gives")
        begun = begun or block.kind in STEPS
        ended = ended or block.kind == "end"
    return file

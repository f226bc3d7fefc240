"""The examples of the manual: found in its pages, run on the local host, and written back.

A page is Markdown. Its fenced blocks mean something by their first line:

    ```csv bids.csv        a file (also jsonl, python) that the examples of the page can read
    ```sql setup           statements before every later example, until the next setup
    ```sql [file.sql]      an example: it must run
    ```sql close           one that runs with --close
    ```result name         the CSV file of one result of the last example, whole
    ```output              what SHOW, DESCRIBE and EXPLAIN of the last example print
    ```notices             what the author of the last example is told about defaults
    ```error               the whole message of the last example, which must fail

Blocks in other languages, and without one, are not looked at.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from millstream.connect import encode, header
from millstream.database import Database
from millstream.database.contents import Contents
from millstream.database.events import Noticed
from millstream.errors import MillstreamError
from millstream.testing import run_script

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w+)[ ]?([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = ("csv", "jsonl", "python")
ANSWERS = ("result", "output", "notices", "error")


@dataclass(frozen=True)
class Answer:
    """A block that shows what an example gives: its kind, its argument, and where its text is."""

    kind: str
    name: str
    text: str
    span: tuple[int, int]


@dataclass(frozen=True)
class Example:
    """A script of a page, with the statements and the files it rests on."""

    page: Path
    line: int
    setup: str
    script: str
    files: dict[str, str]
    answers: list[Answer] = field(default_factory=list)
    close: bool = False

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def fails(self) -> bool:
        return any(answer.kind == "error" for answer in self.answers)

    def check(self) -> None:
        """Raise if the example does not do what it says."""
        found = self.run()
        for answer in self.answers:
            assert answer.text == found(answer), f"{self}: {answer.kind} {answer.name}"

    def run(self) -> _Found:
        """Carry the example out."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in self.files.items():
                Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
                Path(folder, name).write_text(text)
            told: list[str] = []
            session = Database(folder, told.append, contents=Contents(allows_python=True))
            session.execute(self.setup)
            noticed: list[str] = []
            session.events.subscribe(lambda event: noticed.append(event.notice.render()), Noticed)
            try:
                queries = session.execute(self.script)
            except MillstreamError as error:
                if not self.fails:
                    raise
                told = [error.render().replace(folder, "…")]
                return _Found({}, "", "", _lines(told))
            if self.fails:
                raise AssertionError(f"{self}: the example was to fail")
            notices = [*noticed, *(n.render() for query in queries for n in query.notices)]
            script, tables = f"{self.setup}\n{self.script}", {}
            if session.streams:
                tables = run_script(script, folder, close=self.close)
            return _Found(tables, _lines(told), _lines(notices), "")


@dataclass(frozen=True)
class _Found:
    tables: dict[str, pa.Table]
    output: str
    notices: str
    error: str

    def __call__(self, answer: Answer) -> str:
        if answer.kind == "result":
            return as_csv(self.tables[answer.name])
        return getattr(self, answer.kind)


def examples(page: Path) -> list[Example]:
    """The examples of a page, in order."""
    return list(_examples(page, page.read_text()))


def pages() -> list[Path]:
    """Every page that may hold examples."""
    return [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]


def as_csv(table: pa.Table) -> str:
    """A result as the file that `millstream run --out` writes."""
    parts = [encode(batch, "csv").decode() for batch in table.to_batches()]
    return header(table.schema, "csv").decode() + "".join(parts)


def rewrite(page: Path) -> None:
    """Put what the examples give into the page; never an error where none was announced."""
    text = page.read_text()
    changes = [
        (answer.span, found(answer))
        for example in examples(page)
        for found in [example.run()]
        for answer in example.answers
    ]
    for (start, end), new in reversed(changes):
        text = text[:start] + new + text[end:]
    page.write_text(text)


def _examples(page: Path, text: str) -> Iterator[Example]:
    setup, files, current = "", {}, None
    for block in BLOCK.finditer(text):
        kind, name, body = block.groups()
        if kind in FILES and name:
            files[name] = body
        elif kind == "sql" and name == "setup":
            setup = body
        elif kind == "sql":
            if current is not None:
                yield current
            line = text.count("\n", 0, block.start()) + 1
            current = Example(page, line, setup, body, files, close=name == "close")
        elif kind in ANSWERS:
            assert current is not None, f"{page}: {kind} without an example"
            current.answers.append(Answer(kind, name.strip(), body, block.span(3)))
    if current is not None:
        yield current


def _lines(texts: list[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


if __name__ == "__main__":
    for path in [Path(p).resolve() for p in sys.argv[1:]] or pages():
        rewrite(path)

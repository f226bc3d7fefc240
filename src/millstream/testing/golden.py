"""Golden files: stories with time, run under every configuration that must not matter.

A file is a sequence of paragraphs. The first line of each says what it is; what is expected stands
after `----`. Lines that begin with # are comments.

    file parts.csv         the lines of a file beside the script
    script                 statements; streams without SOURCE are fed by the file
    query NAME             one query; after ---- its notices, if they are to be checked
    feed STREAM            rows, one a line: the declared columns in order, cells between |
    feed TABLE             changes: op, time, then the columns; declare it WITH (time = 'integer')
    feed STREAM at TIME    the same, with the clock moved first, for streams stamped on arrival
    feed STREAM in NAME    rows of one partition of the stream, before `at`
    heartbeat STREAM 10    the source says that nothing at or before this instant will come
    clock TIME             time passes
    restart                all state goes to disk and is read again
    end                    every source has come to its end
    error                  statements, and after ---- the exact error they must give
    print                  statements, and after ---- what they print
    rule NAME              a plan, and after ---- the plan a rule makes of it, or `no change`

An empty cell is NULL, `'…'` is text as it stands. After a step stand the rows it brought: `----`
for the only query of the file, `---- NAME` for a result by name (STREAM.late and STREAM.errors,
too). A stream's rows are `ts | …`, of a tagged stream `+ ts | …`; of a stored result it is the
whole content, wherever it has changed (and its changes under NAME.changes, if the file names them).
NULLs at the end of an expected row may be left out. Rows of one instant stand in any order. Results
of queries, late and bad rows that are not expected are a failure; results of the script count if
the file names them.

`python -m millstream.testing.golden [--rewrite] FILES` checks files, or writes what came out into
them; an error is never written anywhere but in an `error` paragraph.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from millstream.errors import MillstreamError
from millstream.testing import results
from millstream.testing.golden_file import (
    STEPS,
    Block,
    GoldenError,
    GoldenFile,
    Row,
    join_rows,
    read_golden,
    split_row,
)
from millstream.testing.golden_rule import rule_result
from millstream.testing.results import difference
from millstream.testing.stage import Configuration, Definitions, ResultRows, Stage

AS_WRITTEN = Configuration("as written")
CONFIGURATIONS = (
    AS_WRITTEN,
    Configuration("one row per batch", {"batch_rows": "1"}),
    Configuration("all in one batch", together=True),
    Configuration("one bucket, negative rows", {"buckets": "1", "strategy": "negative"}),
    Configuration("seven buckets, lists", {"buckets": "7", "strategy": "direct"}),
    Configuration("rules off", {"rules": "off"}),
    Configuration("restart after each batch", restart=True),
    Configuration(
        "everything at once",
        {"batch_rows": "1", "buckets": "7", "rules": "off", "negation": "negative"},
        restart=True,
        strategies=("negative", "update_pattern", "direct", "update_pattern"),
    ),
)


def check_golden(
    path: str | Path, configurations: Sequence[Configuration] = CONFIGURATIONS
) -> list[str]:
    """What is wrong with a golden file, one text for each failure; nothing when all is well."""
    file = read_golden(path)
    failures = check_texts(file)
    if file.of(*STEPS):
        for configuration in configurations:
            if not (configuration.together and depends_on_moments(file)):
                failures += check_steps(file, configuration)
    return failures


def check_steps(file: GoldenFile, configuration: Configuration) -> list[str]:
    """Play the steps of a file under one configuration, and compare."""
    try:
        stage = Stage(file, configuration)
    except MillstreamError as error:
        return [f"{file.path}: {error.render()}"]
    try:
        played = _play(stage, file.of(*STEPS), configuration)
        return [f"{place} ({configuration.name}): {text}" for place, text in played]
    except MillstreamError as error:
        return [f"{file.path} ({configuration.name}): {error.render()}"]
    finally:
        stage.close()


def check_texts(file: GoldenFile) -> list[str]:
    """Compare the errors, printed texts, notices and rules of a file."""
    failures = []
    for block in file.of("query", "error", "print", "rule"):
        if block.expected is not None:
            try:
                actual = text_of(file, block)
            except MillstreamError as error:
                failures.append(f"{block.place}: {error.render()}")
                continue
            if actual != block.expected_text:
                expected = block.expected_text
                failures.append(f"{block.place}: expected\n{expected}\nbut got\n{actual}")
    return failures


def text_of(file: GoldenFile, block: Block) -> str:
    """The notices, the error, the print or the rewritten plan that a paragraph gives."""
    with tempfile.TemporaryDirectory() as folder:
        defined = Definitions.of(file, folder)
        if block.kind == "rule":
            return rule_result(block.words, block.text, defined.database)
        if block.kind == "query":
            query = defined.queries[block.words]
            return "\n".join(n.render().removeprefix(f"{query.name}: ") for n in query.notices)
        defined.printed.clear()
        try:
            defined.database.execute(block.text)
        except MillstreamError as error:
            if block.kind == "error":
                return error.render()
            raise
        if block.kind == "error":
            raise GoldenError(f"{block.place}: the statements give no error")
        return "\n".join(line.rstrip() for text in defined.printed for line in text.splitlines())


def depends_on_moments(file: GoldenFile) -> bool:
    """Whether it matters at which moment a row comes: the file has heartbeats or a clock."""
    return bool(file.of("heartbeat", "clock")) or any(" at " in b.words for b in file.of("feed"))


def rewrite_golden(path: str | Path) -> None:
    """Write what comes out into the file. An error in it is raised, not recorded."""
    file = read_golden(path)
    stage = Stage(file, AS_WRITTEN) if file.of(*STEPS) else None
    before: ResultRows = {}
    paragraphs = []
    for block in file.blocks:
        lines = block.lines
        if block.kind in STEPS and stage is not None:
            stage.play(block)
            shown = _shown(stage, stage.emitted(), before)
            lines = block.with_expected(shown)
        elif block.expected is not None:
            lines = block.with_expected([("", text_of(file, block).splitlines())])
        paragraphs.append("\n".join(lines))
    Path(path).write_text("\n\n".join(paragraphs) + "\n", encoding="utf-8")


def _play(
    stage: Stage, blocks: Sequence[Block], configuration: Configuration
) -> Iterable[tuple[str, str]]:
    shapes, sole = stage.definitions.shapes(), _sole(stage)
    wanted: ResultRows = {}
    contents: ResultRows = {}
    for block in blocks:
        stage.play(block)
        expected = expected_rows(block, sole)
        for name in expected:
            if name not in shapes:
                raise GoldenError(f'{block.place}: there is no result "{name}"')
        if configuration.together:
            wanted = joined_rows(wanted, expected, shapes)
            continue
        contents.update({n: r for n, r in expected.items() if _is_content(n, stage)})
        yield from _compared(stage, {**contents, **expected}, block.place)
    if configuration.together:
        stage.drain()
        yield from _compared(stage, wanted, stage.file.path)


def _compared(stage: Stage, expected: ResultRows, place: str) -> Iterable[tuple[str, str]]:
    shapes, emitted = stage.definitions.shapes(), stage.emitted()
    for name in dict.fromkeys((*expected, *emitted)):
        if name in expected or _is_watched(name, stage):
            wrong = difference(shapes[name], expected.get(name, []), emitted.get(name, []))
            if wrong:
                yield place, f"{name}\n{wrong}"


def expected_rows(block: Block, sole: str | None) -> ResultRows:
    """The rows a step must bring, by result."""
    found: ResultRows = {}
    for name, lines in block.expected or ():
        if not name and sole is None:
            raise GoldenError(f"{block.place}: say which result: ---- NAME")
        found[name or sole or ""] = [_expected_row(line, block.place) for line in lines]
    return found


def _expected_row(line: str, place: str) -> Row:
    row = split_row(line, place)
    return (" ".join(row[0].split()) if row[0] else row[0], *row[1:])


def joined_rows(
    wanted: ResultRows, more: ResultRows, shapes: dict[str, results.Shape]
) -> ResultRows:
    """The rows of all steps; of a stored result the last content."""
    joined = dict(wanted)
    for name, rows in more.items():
        stored = shapes[name].kind == results.BAG and "." not in name
        joined[name] = rows if stored else [*joined.get(name, []), *rows]
    return joined


def _shown(stage: Stage, emitted: ResultRows, before: ResultRows) -> list[tuple[str, list[str]]]:
    """What is written after a step: rows that came, contents that changed."""
    sole, parts = _sole(stage), []
    for name, rows in emitted.items():
        stored = _is_content(name, stage)
        news = rows != before.get(name, []) if stored else bool(rows)
        if news and (_is_watched(name, stage) or name in stage.file.names):
            parts.append(("" if name == sole else name, join_rows(rows)))
        if stored:
            before[name] = rows
    return parts


def _sole(stage: Stage) -> str | None:
    """The result that `----` without a name means."""
    names = list(stage.definitions.queries)
    return names[0] if len(names) == 1 else None


def _is_content(name: str, stage: Stage) -> bool:
    return name in stage.host.job.materialized_roots


def _is_watched(name: str, stage: Stage) -> bool:
    """Queries, late and bad rows must be as expected; other results if the file names them."""
    derived = name in stage.definitions.database.queries and name not in stage.definitions.queries
    return name in stage.file.names or not (derived or name.endswith(".changes"))


def main(arguments: Sequence[str]) -> int:
    """Check or rewrite the files and folders named; 1 if something is wrong."""
    rewrite = "--rewrite" in arguments
    named = [Path(a) for a in arguments if not a.startswith("--")] or [Path("golden")]
    files = [f for p in named for f in (sorted(p.rglob("*.test")) if p.is_dir() else [p])]
    failures = []
    for file in files:
        try:
            if rewrite:
                rewrite_golden(file)
            else:
                failures += check_golden(file)
        except (MillstreamError, GoldenError) as error:
            failures.append(f"{file}: {error}")
    print("\n\n".join(failures) or f"{len(files)} files {'written' if rewrite else 'as expected'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

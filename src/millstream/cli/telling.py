"""What a run says beside its results: notices, one line each, and the summary at the end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from millstream.cli.terminal import say
from millstream.engine.outputs import Query
from millstream.engine.summary import Summary


def tell_notices(queries: Iterable[Query]) -> None:
    """Say every notice once, with the names of all queries that it is about."""
    found: dict[str, list[str]] = {}
    for query in queries:
        for notice in query.notices:
            text = notice.render().removeprefix(f"{query.name}: ")
            found.setdefault(text, []).append(query.name)
    for text, names in found.items():
        say(f"{', '.join(dict.fromkeys(names))}: {text}")


def tell_summary(summary: Summary, out: Path | None, format: str) -> None:
    """Say what was read and emitted, and where rows are that were refused."""
    for line in summary.lines():
        say(line)
    refused = [
        f"{name}.{kind}.{format}"
        for name, stream in summary.streams.items()
        for kind, rows in (("late", stream.late), ("errors", stream.bad))
        if rows
    ]
    if refused and out is not None:
        say(f"rows that were refused are in {out}: {', '.join(refused)}")
    elif refused:
        say("rows that were refused are in no answer; --out DIR keeps them in files")

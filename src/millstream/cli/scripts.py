"""Scripts as the command line is given them: a file, standard input, statements in options."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from millstream.errors import MillstreamError, Place, closest

if TYPE_CHECKING:
    from millstream.database import Database

LARGEST_SCRIPT = 4_000_000
STANDARD_INPUT = Path("-")
COMMAND_LINE = "<command line>"
BETWEEN = "\n;\n"
"""Parts a file from the statements that follow it, whatever it ends with."""


@dataclass(frozen=True)
class Script:
    """The text of a script, the folder that its paths are relative to, and what it is called.

    Statements of the command line begin at `own`.
    """

    text: str
    base: Path
    name: str
    own: int

    def where(self, place: Place | None) -> str:
        """A place as compilers write it: name, line and column."""
        if place is None:
            return self.name
        name = self.name if place.start < self.own else COMMAND_LINE
        place = self.shown(place)
        return f"{name}:{place.line}:{place.column}"

    def shown(self, place: Place) -> Place:
        """The place in the part that its author wrote: lines of the command line count from 1."""
        if place.start < self.own:
            return place
        return Place(self.text[self.own :], place.start - self.own, place.end - self.own)


def read_script(path: Path | None, statements: tuple[str, ...] = ()) -> Script:
    """The script at a path, `-` for standard input, and then the statements of `-e`.

    Paths in it are relative to the folder of the file; without a file, to the current folder.
    """
    if path is None:
        return Script(BETWEEN.join(statements), Path.cwd(), COMMAND_LINE, 0)
    text = _text_of(path)
    if path == STANDARD_INPUT:
        base, name = Path.cwd(), "<standard input>"
    else:
        base, name = path.absolute().parent, str(path)
    return Script(BETWEEN.join((text, *statements)), base, name, len(text) + len(BETWEEN))


def load(
    path: Path | None,
    settings: tuple[str, ...],
    tell: Callable[[str], None],
    statements: tuple[str, ...] = (),
    checkpoint: str | Path | None = None,
    follow: bool = False,
    python: bool = True,
) -> Database:
    """A database that has carried out the script; bare queries have the names by which a checkpoint
    knows them. Notices of statements, and later of a run, are said beside what is asked for."""
    from millstream.cli.terminal import say
    from millstream.database.events import Noticed

    script = read_script(path, statements)
    database = database_for(script, settings, tell, checkpoint, follow, python)
    database.events.subscribe(lambda event: say(event.notice.render()), Noticed)
    if checkpoint is not None:
        database.recall(str(checkpoint))
    try:
        database.execute(script.text)
    except MillstreamError as error:
        error.place = None if error.place is None else script.shown(error.place)
        raise
    return database


def database_for(
    script: Script,
    settings: tuple[str, ...],
    tell: Callable[[str], None],
    checkpoint: str | Path | None = None,
    follow: bool = False,
    python: bool = True,
) -> Database:
    """An empty database in the folder of the script, with settings from the command line; a person
    who runs a script trusts its classes in Python, unless they say no."""
    from millstream.database import Database
    from millstream.database.contents import Contents

    kept = None if checkpoint is None else str(checkpoint)
    allowed = Contents(allows_python=python)
    database = Database(str(script.base), tell, lambda: None, allowed, follow, kept)
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals:
            raise MillstreamError(
                f'--set takes key=value, and this is "{setting}"',
                hint="Write for example --set batch_rows=1000.",
            )
        database.pin(name.strip(), value.strip())
    return database


def _text_of(path: Path) -> str:
    name = "the script on standard input" if path == STANDARD_INPUT else f'script "{path}"'
    try:
        content = _standard_input() if path == STANDARD_INPUT else _file(path)
        if (size := len(content)) > LARGEST_SCRIPT:
            size = max(size, path.stat().st_size) if path != STANDARD_INPUT else size
            raise MillstreamError(
                f"{name} has {size:,} bytes; the limit is {LARGEST_SCRIPT:,}",
                hint="Cut it into several scripts.",
            )
        return content.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except FileNotFoundError:
        raise MillstreamError(f"{name} does not exist", hint=_nearby(path)) from None
    except IsADirectoryError:
        raise MillstreamError(
            f'"{path}" is a folder, not a script', hint="Name a file in it."
        ) from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise MillstreamError(
            f"{name} is not text in UTF-8: see line {line}", hint="Save it as UTF-8."
        ) from None
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        raise MillstreamError(f"{name} cannot be read: {reason}") from None


def _file(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LARGEST_SCRIPT + 1)


def _standard_input() -> bytes:
    if sys.stdin is None or sys.stdin.closed:
        raise MillstreamError("standard input is closed", hint="Name a script, or write -e 'SQL'.")
    if sys.stdin.isatty():
        print("-- the script is read from this terminal; end it with Ctrl-D", file=sys.stderr)
    return sys.stdin.buffer.read(LARGEST_SCRIPT + 1)


def _nearby(path: Path) -> str | None:
    """The script that was probably meant."""
    if not path.parent.is_dir():
        return f"The folder {path.parent} does not exist either."
    near = closest(path.name, sorted(p.name for p in path.parent.iterdir()))
    return f"Did you mean {path.with_name(near)}?" if near else None

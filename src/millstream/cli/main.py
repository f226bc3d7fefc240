"""The command `millstream`."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from millstream.errors import MillstreamError, closest

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Continuous queries over streams on Spark, in one language.",
)

COMMANDS = ("run", "explain", "demo")
Script = Annotated[Path, typer.Argument(help="A script of statements.", metavar="SCRIPT.sql")]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="A setting, as key=value.", metavar="KEY=VALUE")
]


@app.command()
def run(
    script: Script,
    out: Annotated[Path | None, typer.Option(help="Write every result to this folder.")] = None,
    format: Annotated[str, typer.Option(help="csv, jsonl or parquet.")] = "csv",
    changes: Annotated[bool, typer.Option(help="Also write changes of stored results.")] = False,
    follow: Annotated[bool, typer.Option(help="Go on reading files as they grow.")] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="Keep state in this folder or URL, and go on from it.", metavar="DIR"),
    ] = None,
    master: Annotated[
        str | None, typer.Option(help="Spark's master URL; local[*] by default.")
    ] = None,
    set: SetOption = None,
    host: Annotated[str, typer.Option(help="spark, or local for small data.")] = "spark",
    restart: Annotated[
        list[str] | None,
        typer.Option(help="Start this query fresh on its checkpoint.", metavar="NAME"),
    ] = None,
    close: Annotated[
        bool, typer.Option("--close", help="At the end, let time go on until windows are closed.")
    ] = False,
) -> None:
    """Run a script: to the end of bounded sources, or until Ctrl-C."""
    from millstream.cli.running import Options, run_script

    run_script(
        Options(
            script,
            out,
            format,
            changes,
            follow,
            checkpoint,
            master,
            tuple(set or ()),
            host,
            tuple(restart or ()),
            close,
        )
    )


@app.command()
def explain(
    script: Script,
    stage: Annotated[
        str, typer.Option(help="bound, optimized, physical, patterns, state or cost.")
    ] = "optimized",
    query: Annotated[
        str | None, typer.Option(help="Only the query of this name.", metavar="NAME")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the plans into this file.", metavar="FILE.svg")
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="With --stage state or cost: what operators hold, or had to do, there."),
    ] = None,
    set: SetOption = None,
) -> None:
    """Show the plans of a script's queries, and the defaults they were given."""
    from millstream.cli.explaining import explain_script

    typer.echo(explain_script(script, stage, query, picture, checkpoint, tuple(set or ())))


@app.command()
def demo(
    seconds: Annotated[int, typer.Option(help="How long to watch.")] = 30,
    master: Annotated[str | None, typer.Option(help="Spark's master URL.")] = None,
) -> None:
    """Watch continuous queries answer on a live auction feed."""
    from millstream.cli.demo import run_demo

    run_demo(seconds, master)


def main() -> None:
    """The entry point: nothing that a person wrote wrongly ends in a traceback."""
    try:
        app(standalone_mode=False)
    except MillstreamError as error:
        _fail(error.render(), 1)
    except typer.Exit as leave:
        sys.exit(leave.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        _fail("stopped", 130)
    except OSError as error:
        _fail_on_file(error)
    except Exception as error:
        if os.environ.get("MILLSTREAM_DEBUG"):
            raise
        if hasattr(error, "format_message"):
            _fail(_usage(error), 2)
        _fail(
            f"a fault in Millstream: {type(error).__name__}: {str(error)[:500]}\n"
            "hint: Set MILLSTREAM_DEBUG=1 to see where, and report it with the script.",
            70,
        )


def _usage(error: Any) -> str:
    """An error in the command line itself, as our own errors are written."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "millstream"
    said, hint = error.format_message().strip(), f"Write {command} --help to see how it is called."
    option = getattr(error, "option_name", None)
    if wrong := re.match(r"No such command '([^']*)'", said):
        near = closest(wrong[1], COMMANDS)
        said = f'command "{wrong[1]}" does not exist'
        hint = f"Did you mean {near}?" if near else f"Write one of {', '.join(COMMANDS)}."
    elif option and said.startswith("No such option"):
        known = context.command.params if context is not None else ()
        near = closest(option, [name for parameter in known for name in parameter.opts])
        said = f"option {option} does not exist"
        hint = f"Did you mean {near}?" if near else hint
    elif option:
        said = f"option {option} needs a value"
    elif wrong := re.match(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", said):
        said = f'argument "{wrong[1]}" has no meaning here'
    elif wrong := re.match(r"Invalid value for '([^']*)': (.*)", said, re.DOTALL):
        said = f"option {wrong[1]}: {wrong[2][:1].lower()}{wrong[2][1:]}"
    return MillstreamError(said[:1].lower() + said[1:].rstrip("."), hint=hint).render()


def _fail_on_file(error: OSError) -> None:
    """A full disk, a folder without rights, a pipe that was closed: no fault of anybody here."""
    from millstream.files import ordinary

    if os.environ.get("MILLSTREAM_DEBUG"):
        raise error
    with suppress(OSError):  # what was not written yet cannot be written at the end either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _fail(ordinary(error).render(), 1)


def _fail(text: str, code: int) -> None:
    print(text, file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()

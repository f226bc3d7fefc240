"""The command `millstream`."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from millstream.cli.without_pandas import hide_pandas
from millstream.errors import MillstreamError, closest

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Continuous queries over streams on Spark, in one language.",
)

Script = Annotated[
    Path | None,
    typer.Argument(help="A script of statements; - is standard input.", metavar="SCRIPT.sql"),
]
Statements = Annotated[
    list[str] | None,
    typer.Option(
        "-e", "--execute", help="Statements, after those of the script if any.", metavar="SQL"
    ),
]
SetOption = Annotated[
    list[str] | None, typer.Option("--set", help="A setting, as key=value.", metavar="KEY=VALUE")
]

MasterOption = Annotated[str | None, typer.Option(help="Spark's master URL; local[*] by default.")]
PythonOption = Annotated[
    bool,
    typer.Option(
        "--python/--no-python", help="Let scripts name classes in Python, or refuse them."
    ),
]


class Missing(Exception):
    """A command that was given nothing to work on."""

    def __init__(self, command: str) -> None:
        super().__init__(command)
        self.command = f"millstream {command}"

    def format_message(self) -> str:
        return "Missing argument 'SCRIPT.sql', or -e 'SQL'"


def given(command: str, script: Path | None, execute: list[str] | None) -> tuple[str, ...]:
    """The statements of `-e`; without a script there must be some."""
    if script is None and not execute:
        raise Missing(command)
    return tuple(execute or ())


def show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        parts = ", ".join(f"{name} {version(name)}" for name in ("pyspark", "pyarrow"))
        typer.echo(f"millstream {version('millstream')} (Python {sys.version.split()[0]}, {parts})")
        raise typer.Exit


@app.callback()
def millstream(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", is_eager=True, callback=show_version),
    ] = False,
) -> None:
    """Continuous queries over streams on Spark, in one language."""
    hide_pandas()


@app.command()
def run(
    script: Script = None,
    execute: Statements = None,
    out: Annotated[Path | None, typer.Option(help="Write every result to this folder.")] = None,
    format: Annotated[
        str | None,
        typer.Option(help="csv, jsonl, parquet (with --out) or table (without)."),
    ] = None,
    query: Annotated[
        list[str] | None,
        typer.Option(help="Print only the result of this query.", metavar="NAME"),
    ] = None,
    changes: Annotated[bool, typer.Option(help="Also write changes of stored results.")] = False,
    follow: Annotated[bool, typer.Option(help="Go on reading files as they grow.")] = False,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="Keep state in this folder or URL, and go on from it.", metavar="DIR"),
    ] = None,
    master: MasterOption = None,
    set: SetOption = None,
    host: Annotated[str, typer.Option(help="spark, or local for small data.")] = "spark",
    log: Annotated[
        Path | None, typer.Option(help="Write a log of the run to this file.", metavar="FILE")
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Log more, also what Spark says; without --log, here."),
    ] = False,
    restart: Annotated[
        list[str] | None,
        typer.Option(help="Start this query fresh on its checkpoint.", metavar="NAME"),
    ] = None,
    close: Annotated[
        bool, typer.Option("--close", help="At the end, let time go on until windows are closed.")
    ] = False,
    python: PythonOption = True,
) -> None:
    """Run a script: to the end of bounded sources, or until Ctrl-C."""
    from millstream.cli.running import Options, run_script

    options = Options(
        script,
        out,
        format,
        changes,
        follow,
        checkpoint,
        master,
        tuple(set or ()),
        host,
        given("run", script, execute),
        tuple(query or ()),
        log,
        verbose,
        tuple(restart or ()),
        close,
        python,
    )
    raise typer.Exit(run_script(options))


@app.command()
def read(
    script: Annotated[
        Path,
        typer.Argument(help="The script of the run; - is standard input.", metavar="SCRIPT.sql"),
    ],
    execute: Annotated[
        list[str],
        typer.Option("-e", "--execute", help="A query that is answered once.", metavar="SQL"),
    ],
    checkpoint: Annotated[str, typer.Option(help="The folder or URL of the run.", metavar="DIR")],
    as_of: Annotated[
        str | None,
        typer.Option(help="The instant to be read, if not the last one.", metavar="INSTANT"),
    ] = None,
    format: Annotated[str | None, typer.Option(help="csv, jsonl or table.")] = None,
    set: SetOption = None,
    python: PythonOption = True,
) -> None:
    """Answer queries once, over what a run has left on its checkpoint, also while it runs."""
    from millstream.cli.reading import read_command

    read_command(script, tuple(execute), checkpoint, as_of, format, tuple(set or ()), python)


@app.command()
def check(
    script: Script = None,
    execute: Statements = None,
    sources: Annotated[
        bool,
        typer.Option("--sources/--no-sources", help="Open files and databases, or do without."),
    ] = True,
    set: SetOption = None,
    python: PythonOption = True,
) -> None:
    """Say what is wrong with a script, every mistake at its place; run nothing."""
    from millstream.cli.checking import check_command

    statements = given("check", script, execute)
    text, code = check_command(script, statements, tuple(set or ()), sources, python)
    typer.echo(text)
    raise typer.Exit(code)


@app.command()
def explain(
    script: Script = None,
    execute: Statements = None,
    stage: Annotated[
        str,
        typer.Option(
            help="bound, optimized, physical, patterns, state, cost, legend, machine or sharing."
        ),
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
    legend: Annotated[
        bool, typer.Option("--legend/--no-legend", help="Say what the words of the plans mean.")
    ] = True,
    set: SetOption = None,
    python: PythonOption = True,
) -> None:
    """Show the plans of a script's queries, and the defaults they were given."""
    from millstream.cli.explaining import explain_script

    statements = given("explain", script, execute)
    settings = tuple(set or ())
    typer.echo(
        explain_script(
            script, stage, query, picture, checkpoint, settings, legend, statements, python
        )
    )


@app.command()
def functions(
    name: Annotated[
        str | None, typer.Argument(help="A function, an operator or an aggregate.", metavar="NAME")
    ] = None,
) -> None:
    """List the functions of the language, or show one of them."""
    from millstream.database.reference import listed, looked_up

    typer.echo(listed() if name is None else looked_up(name))


@app.command()
def demo(
    seconds: Annotated[int, typer.Option(help="How long to watch.")] = 30,
    master: Annotated[str | None, typer.Option(help="Spark's master URL.")] = None,
) -> None:
    """Watch continuous queries answer on a live auction feed."""
    from millstream.cli.demo import run_demo

    run_demo(seconds, master)


@app.command()
def prepare() -> None:
    """Do once what makes later runs start faster on Spark."""
    from millstream.cli.preparing import prepare

    typer.echo(prepare())


def main() -> None:
    """The entry point: nothing that a person wrote wrongly ends in a traceback."""
    try:
        code = app(prog_name="millstream", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except MillstreamError as error:
        _fail(error.render(), 1)
    except typer.Exit as leave:
        sys.exit(leave.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        _fail("stopped", 130)
    except BrokenPipeError:  # whoever read the output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
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
    command = context.command_path if context is not None else getattr(error, "command", "")
    command = command or "millstream"
    said, hint = error.format_message().strip(), f"Write {command} --help to see how it is called."
    option = getattr(error, "option_name", None)
    if wrong := re.match(r"No such command '([^']*)'", said):
        commands = [c.callback.__name__ for c in app.registered_commands if c.callback]
        near = closest(wrong[1], commands)
        said = f'command "{wrong[1]}" does not exist'
        hint = f"Did you mean {near}?" if near else f"Write one of {', '.join(commands)}."
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

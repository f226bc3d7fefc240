"""`millstream check`: what is wrong with a script, without running it."""

from __future__ import annotations

from pathlib import Path

from millstream.cli.scripts import Script, database_for, read_script
from millstream.database.checking import Checked, Finding
from millstream.errors import MillstreamError

WRONG = 1


def check_command(
    script: Path | None,
    statements: tuple[str, ...],
    settings: tuple[str, ...],
    sources: bool,
    python: bool = True,
) -> tuple[str, int]:
    """What the command prints, and its exit code."""
    read = read_script(script, statements)
    database = database_for(read, settings, lambda text: None, python=python)
    checked = database.check(read.text, sources)
    lines = [_shown(finding, read) for finding in checked.findings]
    return "\n".join([*lines, _in_all(checked)]), WRONG if checked.errors else 0


def _shown(finding: Finding, script: Script) -> str:
    """The finding as compilers write theirs, so that editors find the place."""
    where = script.where(finding.place)
    about = finding.about
    if isinstance(about, MillstreamError):
        about.place = None if about.place is None else script.shown(about.place)
        return f"{where}: error: {about.render()}"
    return f"{where}: notice: {about.render()}"


def _in_all(checked: Checked) -> str:
    errors, notices = len(checked.errors), len(checked.findings) - len(checked.errors)
    parts = [_count(errors, "error") if errors else "no errors", _count(notices, "notice")]
    if checked.queries or not errors:
        count = len(checked.queries)
        parts.append(f"{count} quer{'y is' if count == 1 else 'ies are'} right")
    if checked.skipped:
        use = "it uses" if checked.skipped == 1 else "they use"
        parts.append(f"{_count(checked.skipped, 'statement')} not checked: what {use} is wrong")
    return ", ".join(parts)


def _count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"

"""`millstream explain`: the plans of a script's queries, as text or as a picture."""

from __future__ import annotations

from pathlib import Path

from millstream.cli.running import one_of
from millstream.cli.scripts import load
from millstream.database import STAGES
from millstream.engine.holdings import held_in
from millstream.errors import MillstreamError

NOTHING = "the script registers no query"
OTHER_PICTURES = (".png", ".pdf", ".jpg", ".jpeg", ".gif", ".webp")


def explain_script(
    script: Path | None,
    stage: str,
    query: str | None,
    picture: Path | None,
    checkpoint: str | Path | None,
    settings: tuple[str, ...],
    legend: bool = True,
    statements: tuple[str, ...] = (),
    python: bool = True,
) -> str:
    """What the command prints. A stage that does not exist is refused before the script is read."""
    stage = stage.lower()
    one_of("stage", stage, STAGES)
    if checkpoint is not None and stage not in ("state", "cost"):
        raise MillstreamError(
            "--checkpoint is for --stage state and --stage cost",
            hint="Leave it out, or write --stage state.",
        )
    if picture is not None and picture.suffix.lower() in OTHER_PICTURES:
        raise MillstreamError(
            f'--picture draws SVG, and "{picture}" ends in {picture.suffix}',
            hint=f"Write --picture {picture.with_suffix('.svg')}.",
        )
    database = load(script, settings, lambda text: None, statements, checkpoint, python=python)
    if checkpoint is not None:
        held = held_in(checkpoint, database.job())
        database.held = lambda: held
    asked = list(database.queries.values()) if query is None else [database.find_query(query)]
    if not asked:
        return NOTHING
    if picture is None:
        shown = "optimized" if stage == "legend" else stage
        plans = [database.explain(one, shown) for one in asked]
        wanted = legend or stage == "legend"
        return "\n\n".join([*plans, database.legend(asked, shown)] if wanted else plans)
    _write(picture, database.picture(asked, stage))
    return f"{len(asked)} plan{'s' if len(asked) > 1 else ''} drawn into {picture}"


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except IsADirectoryError:
        raise MillstreamError(
            f'--picture needs a file, and "{path}" is a folder',
            hint=f"Name a file in it, for example {path / 'plan.svg'}.",
        ) from None
    except FileNotFoundError:
        raise MillstreamError(
            f'--picture cannot write "{path}": the folder "{path.parent}" does not exist',
            hint="Make the folder first, or name another file.",
        ) from None
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        raise MillstreamError(
            f'--picture cannot write "{path}": {reason}', hint="Name another file."
        ) from None

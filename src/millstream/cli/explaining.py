"""`millstream explain`: the plans of a script's queries, as text or as a picture."""

from __future__ import annotations

from pathlib import Path

from millstream.cli.running import one_of
from millstream.cli.scripts import load
from millstream.database import STAGES
from millstream.database.explaining import has_pattern
from millstream.engine.holdings import held_in
from millstream.errors import MillstreamError

NOTHING = "the script registers no query"
NO_PATTERN = "no query of the script looks for a pattern"
GRAPHVIZ = (".dot", ".gv")
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
    if picture is not None and picture.suffix.lower() in GRAPHVIZ and stage != "machine":
        raise MillstreamError(
            f'"{picture}" is for Graphviz, and --stage {stage} is drawn as SVG',
            hint=f"Write --stage machine, or --picture {picture.with_suffix('.svg')}.",
        )
    database = load(script, settings, lambda text: None, statements, checkpoint, python=python)
    if checkpoint is not None:
        held = held_in(checkpoint, database.job())
        database.held = lambda: held
    asked = list(database.queries.values()) if query is None else [database.find_query(query)]
    if not asked:
        return NOTHING
    if stage == "machine" and query is None:
        asked = [one for one in asked if has_pattern(database.plan_of(one, "optimized"))]
        if not asked:
            return NO_PATTERN
    if picture is None:
        drawn = "optimized" if stage == "legend" else stage
        plans = [database.explain(one, drawn) for one in asked]
        wanted = legend or stage == "legend"
        if not wanted or stage in ("machine", "sharing"):
            return "\n\n".join(plans)
        return "\n\n".join([*plans, database.legend(asked, drawn)])
    form = "graphviz" if picture.suffix.lower() in GRAPHVIZ else "svg"
    _write(picture, database.picture(asked, stage, form))
    what = "machine" if stage == "machine" else "plan"
    return f"{len(asked)} {what}{'s' if len(asked) > 1 else ''} drawn into {picture}"


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

"""EXPLAIN of aggregates of one's own: how their calls are served."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.algebra.node import Node, walk
from millstream.blocks.derived import over_window
from millstream.blocks.machine import Ending, Frame
from millstream.blocks.native import why_not
from millstream.blocks.routine import Routine
from millstream.operators import Feed, Recomputed
from millstream.operators.fed import FedCall, frame_words
from millstream.settings import Settings


def how_served(plan: Node, settings: Settings) -> Iterator[str]:
    """A line for each call: the box of Figure 2 that serves it, and which machine runs it."""
    fed = [node for node in walk(plan) if isinstance(node, Feed)]
    panes = {node.input for node in fed if _feeds(node.input, node)}
    for node in walk(plan):
        match node:
            case Feed() if node not in panes:
                inner = node.input if node.input in panes else None
                for call in node.calls:
                    yield _line(call, _box(call, inner), node, settings)
            case Recomputed():
                for call in node.calls:
                    version = "window" if call.routine.is_window else "base"
                    how = f"its {version} version, computed anew for the groups that change"
                    if node.by_expire:
                        how = "its window version, maintained by EXPIRE: rows leave in order"
                    yield _line(call, how, node, settings)


def _feeds(below: Node, node: Feed) -> bool:
    """Whether what one Feed returns is what the other one is fed."""
    names = {name for call in node.calls for name in call.arguments}
    return isinstance(below, Feed) and any(set(call.names) <= names for call in below.calls)


def _box(call: FedCall, panes: Node | None) -> str:
    """How a call on a stream is served."""
    frame = call.frame
    if panes is not None:
        assert isinstance(panes, Feed)
        size = panes.calls[0].slide
        return f"box 4, ALGEBRAIC: its base version on panes of {size} tuples, then its window one"
    if call.restarts:
        return "box 3, a tumble: its base version, begun again for every slot"
    if frame is None:
        if call.ending is Ending.EACH:
            return "box 1, an unbounded window: its base version, TERMINATE after every tuple"
        return "its base version, which is not blocking"
    if frame.rows is None and frame.length is None:
        return "box 1, an unbounded window: its window version"
    box = "box 5, a slide" if call.slide is not None else "box 2"
    if is_anew(call.routine):
        return f"{box}, without a window version: its base version, computed anew over the window"
    if call.routine.expire:
        return f"{box}: its window version, maintained by EXPIRE"
    return f"{box}: its window version"


def is_anew(routine: Routine) -> bool:
    """Whether a window version was made of a base one."""
    base = routine.calls.get(routine.name.lower())
    return base is not None and not base.is_window and over_window(base) == routine


def _line(call: FedCall, how: str, node: Node, settings: Settings) -> str:
    frame = call.runs_in or Frame()
    window = "" if call.frame is None else f" over {frame_words(call.frame, node.time_domain)}"
    runs = _runs(call.routine, call.ending, frame, settings.native == "on")
    return f'aggregate "{call.routine.name}"{window}: {how}; {runs}'


def _runs(routine: Routine, ending: Ending, frame: Frame, native: bool) -> str:
    if not native:
        return "general, since native is off"
    reason = why_not(routine, ending, frame)
    return "native" if reason is None else f"general, since {reason}"

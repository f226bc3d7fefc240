"""Calls of routines on a stream: what Feed feeds, in which window, and which results it keeps."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from millstream.algebra.expressions import name_text
from millstream.algebra.lengths import length_text
from millstream.algebra.time import Domain
from millstream.blocks.machine import Ending, Frame
from millstream.blocks.routine import Routine


@dataclass(frozen=True)
class FedCall:
    """A call of a routine: an instance per partition, fed the tuples of a stream one by one.

    `names` are the columns of its result. `frame` is the window of the instance, None for a base
    version, which sees all tuples so far. `slide` keeps the results of yield tuples only: every so
    many tuples of the partition if it goes `by_rows`, else the last one in every slot of time.
    `restarts` says that an instance lives for one slot by rows: it is fed the last tuples of the
    slot, as many as the frame has.
    """

    names: tuple[str, ...]
    routine: Routine
    arguments: tuple[str, ...]
    partition_by: tuple[str, ...] = ()
    frame: Frame | None = None
    ending: Ending = Ending.NEVER
    slide: int | None = None
    by_rows: bool = True
    restarts: bool = False

    @property
    def results(self) -> list[pa.Field]:
        return [pa.field(n, kind) for n, (_, kind) in zip(self.names, self.routine.returns)]

    @property
    def is_active(self) -> bool:
        return self.frame is not None and self.frame.active

    @property
    def waits(self) -> bool:
        """Whether the results of a slot are known only when its end has passed."""
        return self.slide is not None and not self.by_rows

    @property
    def runs_in(self) -> Frame | None:
        """The window that the machine keeps."""
        return None if self.restarts else self.frame

    def words(self, domain: Domain | None) -> str:
        """As it stands in a plan."""
        given = ", ".join(map(name_text, self.arguments)) or "*"
        parts = [f"{name_text(repr(self.routine))}({given})"]
        if self.partition_by:
            parts.append(f"per {', '.join(map(name_text, self.partition_by))}")
        if self.frame is not None:
            parts.append(frame_words(self.frame, domain))
        if self.slide is not None:
            by = f"rows {self.slide}" if self.by_rows else length_text(self.slide, domain)
            parts.append(f"slide {by}")
        parts += ["restarts"] if self.restarts else []
        parts += [ENDINGS[self.ending]] if self.ending is not Ending.NEVER else []
        return f"{' '.join(parts)} as ({', '.join(map(name_text, self.names))})"


ENDINGS = {Ending.EACH: "answers", Ending.LAST: "ends", Ending.WANTED: "closes"}


def frame_words(frame: Frame, domain: Domain | None) -> str:
    if frame.rows is not None:
        return f"rows {frame.rows}"
    if frame.length is None:
        return "unbounded"
    active = " active" if frame.active else ""
    return f"range {length_text(frame.length, domain)}{active}"

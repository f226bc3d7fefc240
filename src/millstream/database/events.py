"""Events: what happened in a database, for whoever wants to know."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from millstream.engine.outputs import Query
from millstream.engine.summary import Summary
from millstream.errors import Notice


@dataclass(frozen=True)
class NameDefined:
    """A stream, table or view was declared."""

    kind: str
    name: str


@dataclass(frozen=True)
class NameDropped:
    """A stream, table or view was dropped."""

    kind: str
    name: str


@dataclass(frozen=True)
class QueryRegistered:
    """A query was registered; its notices are in it."""

    query: Query


@dataclass(frozen=True)
class QueryDropped:
    """A query was dropped."""

    query: Query


@dataclass(frozen=True)
class SettingChanged:
    """A setting has another value."""

    name: str
    value: str


@dataclass(frozen=True)
class RunStarted:
    """A job runs from now on; sources are followed as they grow, or read to their end."""

    follow: bool


@dataclass(frozen=True)
class RunEnded:
    """The job runs no more: it came to its end, or was stopped. `summary` is what it did."""

    summary: Summary = field(default_factory=Summary)


@dataclass(frozen=True)
class BatchFinished:
    """A batch is finished: what the host reports of it (rows, seconds, clock, state)."""

    report: Any


@dataclass(frozen=True)
class Noticed:
    """Something people should know that is no error."""

    notice: Notice


@dataclass(frozen=True)
class Failure:
    """Something failed that nobody was waiting for: a run, or a subscriber of events.

    `what` names it.
    """

    what: str
    error: BaseException


Event = (
    NameDefined
    | NameDropped
    | QueryRegistered
    | QueryDropped
    | SettingChanged
    | RunStarted
    | RunEnded
    | BatchFinished
    | Noticed
    | Failure
)


@dataclass(frozen=True, eq=False)
class Subscription:
    """Somebody who wants events, of these kinds or of all."""

    callback: Callable[[Any], None]
    kinds: tuple[type, ...] = ()
    cancel: Callable[[Subscription], None] = field(repr=False, default=lambda one: None)

    def close(self) -> None:
        """Take no more events."""
        self.cancel(self)


class Events:
    """Hands events to subscribers, one at a time, in the order in which they happened.

    `publish` only queues an event, and may be called under any lock; `deliver` calls the
    subscribers, and is called without one. While one thread delivers, others leave their events to
    it, so a subscriber is never called twice at once, and may itself change the database: the
    events of that come after. A subscriber that raises is not called again, and is reported.
    """

    def __init__(self) -> None:
        self._waiting: deque[Event] = deque()
        self._subscribed: tuple[Subscription, ...] = ()
        self._delivering = threading.Lock()
        self._list = threading.Lock()

    def subscribe(self, callback: Callable[[Any], None], *kinds: type) -> Subscription:
        """Call the function with every event of these kinds, or of all, from now on."""
        one = Subscription(callback, kinds, self._cancel)
        with self._list:
            self._subscribed = (*self._subscribed, one)
        return one

    def publish(self, *events: Event) -> None:
        """Queue events; they are delivered by the next `deliver` of any thread."""
        self._waiting.extend(events)

    def deliver(self) -> None:
        """Deliver the events that wait, unless another thread is doing so."""
        while self._waiting and self._delivering.acquire(blocking=False):
            try:
                while self._waiting:
                    self._hand_out(self._waiting.popleft())
            finally:
                self._delivering.release()

    def tell(self, *events: Event) -> None:
        """Queue events and deliver them."""
        self.publish(*events)
        self.deliver()

    def _hand_out(self, event: Event) -> None:
        for one in self._subscribed:
            if one.kinds and not isinstance(event, one.kinds):
                continue
            try:
                one.callback(event)
            except Exception as error:
                self._cancel(one)
                self.publish(Failure("a subscriber of events", error))

    def _cancel(self, gone: Subscription) -> None:
        with self._list:
            self._subscribed = tuple(one for one in self._subscribed if one is not gone)

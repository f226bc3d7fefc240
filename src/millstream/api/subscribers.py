"""Subscribers: the functions of users that get rows as they come."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

import pyarrow as pa

from millstream.database.events import Events, Failure
from millstream.database.run import Delivery

Callback = Callable[[pa.RecordBatch], None]
OnError = Callable[[BaseException], None]

log = logging.getLogger("millstream.subscribers")


@dataclass(frozen=True, eq=False)
class Subscriber:
    """A function that wants the rows of a result, and what is to be called if it raises."""

    callback: Callback
    on_error: OnError | None = None


class Subscribers:
    """Hands rows to functions, by the name of the query, in a thread that the host lends them.

    Law: a function that raises gets no more rows, and is reported: to its `on_error`, in the log,
    in `errors`, and as an event. The job goes on, and so do the other functions.
    """

    def __init__(self, delivery: Delivery, events: Events) -> None:
        self._delivery, self._events = delivery, events
        self._subscribed: dict[str, tuple[Subscriber, ...]] = {}
        self._lock = Lock()
        self.errors: dict[str, tuple[BaseException, ...]] = {}

    def add(self, query: str, callback: Callback, on_error: OnError | None = None) -> None:
        with self._lock:
            one = Subscriber(callback, on_error)
            self._subscribed[query] = (*self._subscribed.get(query, ()), one)

    def rows(self, name: str, batch: pa.RecordBatch, number: int) -> None:
        self._hand_out(name.removesuffix(".changes"), batch)

    def withdrawn(self, name: str, rows: pa.RecordBatch) -> None:
        """Hand out the changes by which the rows of a replaced query leave."""
        self._hand_out(name, rows)

    def _hand_out(self, query: str, batch: pa.RecordBatch) -> None:
        if not batch.num_rows:
            return
        for one in self._subscribed.get(query, ()):
            with self._delivery.under_way():
                try:
                    one.callback(batch)
                except (Exception, SystemExit) as error:
                    self._end(query, one, error)

    def whole(self, name: str, content: pa.RecordBatch) -> None: ...

    def sizes(self) -> dict[str, int]:
        return {}

    def close(self) -> None: ...

    def _end(self, query: str, gone: Subscriber, error: BaseException) -> None:
        """End a subscription whose function has raised."""
        with self._lock:
            left = self._subscribed.get(query, ())
            self._subscribed[query] = tuple(one for one in left if one is not gone)
            self.errors[query] = (*self.errors.get(query, ()), error)
        log.error('a subscriber of query "%s" raised, and gets no more rows', query, exc_info=error)
        self._events.publish(Failure(f'a subscriber of query "{query}"', error))
        if gone.on_error is not None:
            try:
                gone.on_error(error)
            except Exception as problem:
                log.error('on_error of query "%s" raised itself', query, exc_info=problem)

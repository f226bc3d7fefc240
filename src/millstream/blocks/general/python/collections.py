"""Lists and dicts that instances keep: what an event does to them can be taken back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from millstream.blocks.general.python.kinds import Change
from millstream.blocks.general.table import Journal
from millstream.blocks.general.values import Row

MISSING = object()


class KeptList(list):
    """A list that notes its changes in a journal, and takes values that fit only.

    Cost: a change at the end costs nothing more; others copy the list for the journal.
    """

    __slots__ = ("fits", "held", "journal")

    def __init__(
        self, values: Iterable[Any], fits: Change, held: Change, journal: Journal | None
    ) -> None:
        super().__init__(values)
        self.fits, self.held, self.journal = fits, held, journal

    @property
    def rows(self) -> dict[int, Row]:
        """As the rows of a table."""
        return {at: self.held(value) for at, value in enumerate(self)}

    def in_order(self) -> None: ...

    def put_back(self, at: int, before: Any) -> None:
        """Undo a change: what was appended (-1), what was popped (-2), all (-3), or one value."""
        if at == -1:
            super().pop()
        elif at == -2:
            super().append(before)
        elif at == -3:
            super().__setitem__(slice(None), before)
        else:
            super().__setitem__(at, before)

    def replace(self, values: Iterable[Any]) -> None:
        """Other values in the place of all."""
        fitting = [self.fits(value) for value in values]
        self._whole()
        super().__setitem__(slice(None), fitting)

    def _note(self, at: int, before: Any) -> None:
        if self.journal is not None:
            self.journal.append((self, at, before))  # type: ignore[arg-type]

    def _whole(self) -> None:
        if self.journal is not None:
            self._note(-3, list(self))

    def append(self, value: Any) -> None:
        value = self.fits(value)
        self._note(-1, None)
        super().append(value)

    def pop(self, at: Any = -1) -> Any:
        if at != -1:
            self._whole()
            return super().pop(at)
        value = super().pop()
        self._note(-2, value)
        return value

    def __setitem__(self, at: Any, value: Any) -> None:
        if isinstance(at, slice):
            values = [self.fits(one) for one in value]
            self._whole()
            super().__setitem__(at, values)
            return
        place = at.__index__()
        place += len(self) if place < 0 else 0
        before = self[place]
        value = self.fits(value)
        self._note(place, before)
        super().__setitem__(place, value)

    def __delitem__(self, at: Any) -> None:
        self._whole()
        super().__delitem__(at)

    def insert(self, at: Any, value: Any) -> None:
        value = self.fits(value)
        self._whole()
        super().insert(at, value)

    def extend(self, values: Iterable[Any]) -> None:
        for value in list(values):
            self.append(value)

    def __iadd__(self, values: Iterable[Any]) -> KeptList:  # type: ignore[misc,override]
        self.extend(values)
        return self

    def __imul__(self, times: Any) -> KeptList:  # type: ignore[misc,override]
        self.replace(list(self) * times)
        return self

    def remove(self, value: Any) -> None:
        del self[self.index(value)]

    def clear(self) -> None:
        self._whole()
        super().clear()

    def sort(self, **how: Any) -> None:
        self._whole()
        super().sort(**how)

    def reverse(self) -> None:
        self._whole()
        super().reverse()


class KeptDict(dict):
    """A dict that notes its changes in a journal, and takes keys and values that fit only.

    Law: taken back, it has its keys in the order that they had; so every key has a number.
    """

    __slots__ = ("held", "journal", "key_fits", "next", "numbers", "value_fits")

    def __init__(
        self,
        entries: Iterable[tuple[Any, Any]],
        key_fits: Change,
        value_fits: Change,
        held: Change,
        journal: Journal | None,
    ) -> None:
        super().__init__(entries)
        self.key_fits, self.value_fits = key_fits, value_fits
        self.held, self.journal = held, journal
        self.numbers = {key: number for number, key in enumerate(self)}
        self.next = len(self)

    @property
    def rows(self) -> dict[int, Row]:
        """As the rows of a table."""
        return {at: self.held(entry) for at, entry in enumerate(self.items())}

    def put_back(self, at: int, before: Any) -> None:
        """Undo a change of a key: it had this number and value, or was missing (-1)."""
        key, value = before
        if at < 0:
            super().__delitem__(key)
            del self.numbers[key]
        else:
            super().__setitem__(key, value)
            self.numbers[key] = at

    def in_order(self) -> None:
        entries = sorted(self.items(), key=lambda entry: self.numbers[entry[0]])
        super().clear()
        super().update(entries)

    def replace(self, entries: Any) -> None:
        """Other entries in the place of all."""
        entries = list(dict(entries).items())
        self.clear()
        self.update(entries)

    def _note(self, key: Any) -> None:
        if self.journal is not None:
            before = key, super().get(key)
            self.journal.append((self, self.numbers.get(key, -1), before))  # type: ignore[arg-type]

    def __setitem__(self, key: Any, value: Any) -> None:
        key, value = self.key_fits(key), self.value_fits(value)
        self._note(key)
        super().__setitem__(key, value)
        if key not in self.numbers:
            self.numbers[key] = self.next
            self.next += 1

    def __delitem__(self, key: Any) -> None:
        if key in self:
            self._note(key)
            del self.numbers[key]
        super().__delitem__(key)

    def pop(self, key: Any, default: Any = MISSING) -> Any:
        if key not in self and default is not MISSING:
            return default
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[Any, Any]:
        if not self:
            raise KeyError("popitem(): dictionary is empty")
        key = next(reversed(self))
        return key, self.pop(key)

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *others: Any, **more: Any) -> None:
        for key, value in dict(*others, **more).items():
            self[key] = value

    def __ior__(self, other: Any) -> KeptDict:  # type: ignore[misc,override]
        self.update(other)
        return self

    def clear(self) -> None:
        for key in list(self):
            del self[key]

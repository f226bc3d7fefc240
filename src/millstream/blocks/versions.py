"""The versions of a routine under one name: a base one, one for windows, or a table function."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from millstream.blocks.routine import Routine


@dataclass(frozen=True)
class Versions:
    """What a name means where an aggregate is called, and where a table function is."""

    base: Routine | None = None
    window: Routine | None = None
    function: Routine | None = None

    @property
    def any(self) -> Routine:
        """One of them."""
        found = self.base or self.window or self.function
        assert found is not None
        return found

    @property
    def is_aggregate(self) -> bool:
        return self.base is not None or self.window is not None

    @staticmethod
    def slot(routine: Routine) -> str:
        """Which version a routine is."""
        if routine.is_function:
            return "function"
        return "window" if routine.is_window else "base"

    def has(self, routine: Routine) -> bool:
        """Whether there is a version of its kind."""
        return getattr(self, self.slot(routine)) is not None

    def with_version(self, routine: Routine) -> Versions:
        """With this one in the place of that of its kind."""
        if routine.is_function:
            return replace(self, function=routine)
        if routine.is_window:
            return replace(self, window=routine)
        return replace(self, base=routine)


@dataclass(frozen=True)
class Known:
    """The routines that names mean, which are in lower case: those of a script hide the others."""

    own: Mapping[str, Versions] = field(default_factory=dict)
    shipped: Mapping[str, Versions] = field(default_factory=dict)

    def __call__(self, name: str) -> Versions | None:
        return self.own.get(name.lower()) or self.shipped.get(name.lower())

    @property
    def aggregates(self) -> list[str]:
        """The names of aggregates, as they were defined."""
        found = {**self.shipped, **self.own}.values()
        return [versions.any.name for versions in found if versions.is_aggregate]

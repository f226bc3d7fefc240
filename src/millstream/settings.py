"""Settings: names, values, and what they mean. None changes an answer that it does not refuse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from millstream.algebra.lengths import unit_size
from millstream.algebra.time import Domain
from millstream.errors import MillstreamError, closest

CHOICES = {
    "rules": ("on", "fixed", "off"),
    "strategy": ("negative", "direct", "update_pattern"),
    "negation": ("measured", "ends", "negative"),
    "placement": ("auto", "driver", "executors"),
    "native": ("on", "off"),
    "search": ("ops", "naive"),
    "sharing": ("on", "off"),
}

NEGATIVE, DIRECT, UPDATE_PATTERN = CHOICES["strategy"]
NEVER_OPEN = (DIRECT, f"{UPDATE_PATTERN} ends")
"""The ways of ending rows under which every row with a known end is emitted with it."""

NUMBERS = {
    "batch_rows": 100_000_000,
    "buckets": 1024,
    "lazy": 100,
    "pattern_steps": 1_000_000,
}
AUTO = 0
"""The number that stands for `auto`, where that is a value."""

MAY_BE_AUTO = ("batch_rows", "buckets")
LENGTHS = ("history",)
OFF = "off"


@dataclass(frozen=True)
class Settings:
    """`batch_rows` is per batch and source, by default as many as what was measured suggests;
    `buckets` are one for every core by default. `placement` is who carries a batch on Spark: the
    process of the driver, the executors, or whoever is cheaper.

    `strategy` is how rows leave: by negative rows, by known ends looked for in lists, or by known
    ends in structures that suit the update pattern. `negation` is what stands above negations then:
    known ends, negative rows, or what was measured to be better. `lazy` is the share of its time,
    in percent, after which a part of an index is cleared of expired rows. `native` says
    whether aggregates of one's own may run as machine code, `search` how patterns are looked for:
    skipping what cannot match, or from every row on. `pattern_steps` is how many tests
    MATCH_RECOGNIZE makes for each row that an attempt has come to; an attempt that needs more is
    given up, and its first row is in the error stream. `sharing` says whether queries are
    computed from others that contain them. `history` is how long stored results keep what they
    held, for AS OF: a length of time, a bare number where instants are such, or off. A setting
    exists only when it does something.
    """

    batch_rows: int = AUTO
    buckets: int = AUTO
    rules: str = "on"
    strategy: str = "update_pattern"
    negation: str = "measured"
    lazy: int = 50
    placement: str = "auto"
    native: str = "on"
    search: str = "ops"
    sharing: str = "on"
    pattern_steps: int = 1_000
    history: str = OFF

    def kept(self, domain: Domain | None) -> int:
        """How long results keep what they held, in the units of their time; 0 for not at all."""
        if self.history == OFF:
            return 0
        amount, _, unit = self.history.partition(" ")
        if domain is Domain.TIMESTAMP:
            size = unit_size(unit) if unit else None
            return 0 if size is None else int(amount) * size
        return 0 if unit else int(amount)

    @property
    def ending(self) -> str:
        """How ends are emitted: the strategy, and what stands above negations."""
        return (
            f"{self.strategy} {self.negation}" if self.strategy == UPDATE_PATTERN else self.strategy
        )

    def with_ending(self, ending: str) -> Settings:
        """The settings under which ends are emitted in this way."""
        strategy, _, negation = ending.partition(" ")
        return replace(self, strategy=strategy, negation=negation or self.negation)

    def shown(self) -> dict[str, str]:
        """The settings as a person writes them."""
        return {
            name: "auto" if name in MAY_BE_AUTO and value == AUTO else str(value)
            for name, value in vars(self).items()
        }

    @staticmethod
    def has(name: str) -> bool:
        return name.lower() in (*CHOICES, *NUMBERS, *LENGTHS)

    def with_value(self, name: str, value: str) -> Settings:
        """The settings with one changed; an error that lists what there is."""
        key = name.lower()
        shown = value if len(value) <= 40 else f"{value[:37]}…"
        if key in CHOICES:
            if value.lower() not in CHOICES[key]:
                raise MillstreamError(
                    f'setting "{key}" cannot be "{shown}"',
                    hint=f"Write {' or '.join(CHOICES[key])}.",
                )
            choice: dict[str, Any] = {key: value.lower()}
            return replace(self, **choice)
        if key in MAY_BE_AUTO and value.lower() == "auto":
            automatic: dict[str, Any] = {key: AUTO}
            return replace(self, **automatic)
        if key in NUMBERS:
            digits = value.isascii() and value.isdecimal() and len(value) < 20
            or_auto = ", or auto" if key in MAY_BE_AUTO else ""
            if not digits or not 1 <= int(value) <= NUMBERS[key]:
                raise MillstreamError(
                    f'setting "{key}" cannot be "{shown}"',
                    hint=f"Write a whole number from 1 to {NUMBERS[key]:,}{or_auto}.",
                )
            number: dict[str, Any] = {key: int(value)}
            return replace(self, **number)
        if key in LENGTHS:
            length: dict[str, Any] = {key: _length(key, value)}
            return replace(self, **length)
        known = ", ".join(sorted([*CHOICES, *NUMBERS, *LENGTHS]))
        near = closest(name, [*CHOICES, *NUMBERS, *LENGTHS])
        raise MillstreamError(
            f'setting "{name}" does not exist',
            hint=f'Did you mean "{near}"?' if near else f"Write one of {known}.",
        )


def _length(key: str, value: str) -> str:
    """A length of time: a number and its unit, or a bare number.

    >>> _length("history", "10  Minutes"), _length("history", "600"), _length("history", "OFF")
    ('10 minutes', '600', 'off')
    """
    words = value.lower().split()
    if words == [OFF]:
        return OFF
    is_number = bool(words) and words[0].isascii() and words[0].isdecimal() and len(words[0]) < 13
    unit = words[1:]
    if not is_number or not int(words[0]) or len(unit) > 1 or (unit and not unit_size(unit[0])):
        raise MillstreamError(
            f'setting "{key}" cannot be "{value if len(value) <= 40 else value[:37] + "…"}"',
            hint="Write a length such as '10 minutes', a number if instants are numbers, or off.",
        )
    return " ".join(words)

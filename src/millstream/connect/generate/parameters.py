"""What the parameters of generators have in common: they stand in the URL, behind the `?`."""

from __future__ import annotations

from millstream.connect.options import Option, Options, whole

EVENTS = Option("events", whole(0), "how many events there are", "100000", otherwise="no end")
SEED = Option("seed", whole(), "another number, another feed", "1", "1")


def parameters(generator: str, *declared: Option) -> Options:
    """The parameters of `generate:NAME?…`."""
    return Options(f"generate:{generator}", declared, "parameter", "{}={}")

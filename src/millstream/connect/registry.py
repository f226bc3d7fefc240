"""All connectors, and the one that answers to a SOURCE."""

from __future__ import annotations

from millstream.connect.connector import Connector
from millstream.connect.files import FILES
from millstream.connect.generate import GENERATE
from millstream.connect.options import OF_STREAMS
from millstream.connect.postgres import POSTGRES
from millstream.connect.statements import STATEMENTS
from millstream.errors import MillstreamError, closest

CONNECTORS: tuple[Connector, ...] = (FILES, GENERATE, POSTGRES, STATEMENTS)


def connector_of(url: str) -> Connector:
    """The connector that answers to a SOURCE; files, unless it begins with the word of another."""
    scheme, colon, _ = url.partition(":")
    by_scheme = {word: connector for connector in CONNECTORS for word in connector.schemes}
    if colon and scheme.lower() in by_scheme:
        return by_scheme[scheme.lower()]
    if colon and scheme.isalpha() and len(scheme) > 1:
        meant = closest(scheme, [word for word in by_scheme if word != "statements"])
        written = [connector.written for connector in CONNECTORS if connector.written]
        raise MillstreamError(
            f'source "{url}" is of an unknown kind',
            hint=f"Did you mean {meant}:?" if meant else f"Use {', or '.join(written)}.",
        )
    return FILES


def option_names() -> frozenset[str]:
    """The names of all options that may stand in WITH of a source."""
    return frozenset(
        name
        for connector in CONNECTORS
        for options in connector.options
        if options.word == OF_STREAMS.word
        for name in options.names
    )

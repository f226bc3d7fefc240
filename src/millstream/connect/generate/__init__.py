"""Generators: sources that make their rows."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from millstream.catalog import Stream
from millstream.connect.connector import Connector
from millstream.connect.generate import auction_feed, connections
from millstream.connect.generate.generator import Feed, Generator
from millstream.connect.options import Options
from millstream.errors import MillstreamError, closest

FEEDS: dict[str, tuple[Options, Any]] = {
    "auction": (auction_feed.PARAMETERS, auction_feed.AuctionFeed.open),
    "connections": (connections.PARAMETERS, connections.Connections.open),
}


def open_generator(stream: Stream, follow: bool) -> Generator:
    """The generator that a URL describes."""
    assert stream.source is not None
    Options("a generator source", ()).read(dict(stream.options))
    kind, _, query = stream.source.partition(":")[2].partition("?")
    if kind not in FEEDS:
        meant = closest(kind, list(FEEDS))
        raise MillstreamError(
            f'generator "{kind}" does not exist',
            hint=f"Did you mean {meant}?" if meant else f"Use {' or '.join(FEEDS)}.",
        )
    declared, make = FEEDS[kind]
    given = declared.read(dict(parse_qsl(query, keep_blank_values=True)))
    feed: Feed = make(given, stream.name)
    return Generator(stream.name, stream.schema, feed, given["events"], follow)


GENERATE = Connector(
    "generate",
    ("generate",),
    "generate:auction",
    tuple(declared for declared, _ in FEEDS.values()),
    open_generator,
)

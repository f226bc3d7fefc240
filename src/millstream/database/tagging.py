"""Tagged streams: they are no queries, but read a name as queries do."""

from __future__ import annotations

from millstream.bind import bind_tagged
from millstream.catalog import Catalog, Reader, TaggedStream
from millstream.lang import CreateStreamOver, parse_script


def put_tagged(tagged: TaggedStream, catalog: Catalog) -> None:
    """Hold a tagged stream, and what it reads."""
    catalog.put(tagged)
    catalog.forget_reads(tagged.name)
    catalog.note_reads(Reader("stream", tagged.name), (tagged.over,))


def tagged_again(there: TaggedStream, catalog: Catalog) -> TaggedStream:
    """A tagged stream bound again, since the stream that it is over means something else."""
    (statement,) = parse_script(there.text)
    assert isinstance(statement, CreateStreamOver)
    return bind_tagged(statement, catalog)

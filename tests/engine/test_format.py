"""A checkpoint whose state was laid out otherwise is refused by name; nothing in it is touched."""

import json
import zlib
from pathlib import Path

import pytest

from millstream.engine.checkpoint import FORMAT, Checkpoint, Commit
from millstream.engine.clock import Clock
from millstream.errors import MillstreamError


def test_a_commit_without_a_format_is_of_the_first(tmp_path: Path) -> None:
    checkpoint = Checkpoint.at(tmp_path)
    checkpoint.write(Commit(0, Clock.start(), 2))
    assert checkpoint.take_up()[0] == Commit(0, Clock.start(), 2)
    (path,) = (tmp_path / "commits").glob("*.json")
    fields = json.loads(path.read_bytes().partition(b"\n")[2])
    del fields["format"]
    body = json.dumps(fields).encode()
    path.write_bytes(b"%08x\n" % zlib.crc32(body) + body)
    with pytest.raises(MillstreamError) as refused:
        checkpoint.take_up()
    assert refused.value.message == (
        f'checkpoint "{tmp_path}" cannot be used: its state is of format 1, '
        f"and this version reads format {FORMAT}"
    )
    assert path.exists()

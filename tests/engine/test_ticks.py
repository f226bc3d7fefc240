"""The time beside read tasks: a stream that follows the clock hears of it in every batch."""

from millstream.algebra.types import INTEGER, TIMESTAMP
from millstream.catalog import Stream
from millstream.engine.read_tasks import TICK, ReadTask, with_ticks

NOW = 10 * TICK
BUSY = Stream("busy", (("t", INTEGER),), "t")
SILENT = Stream("silent", (("ts", TIMESTAMP),), "ts", idle=1_000)
STREAMS = {stream.name: stream for stream in (BUSY, SILENT)}
READ = ReadTask("busy", (), None, False, NOW)
BEAT = ReadTask("silent", (), None, False, NOW)


def test_a_silent_stream_hears_the_time_while_another_is_busy():
    assert with_ticks([READ], STREAMS, {}, NOW, NOW - 1) == [READ, BEAT]


def test_without_rows_the_time_comes_once_in_a_while():
    assert with_ticks([], STREAMS, {}, NOW, NOW - TICK + 1) == []
    assert with_ticks([], STREAMS, {}, NOW, NOW - TICK) == [BEAT]


def test_a_stream_that_has_ended_does_not_listen():
    assert with_ticks([READ], STREAMS, {"silent": {"ended": True}}, NOW, 0) == [READ]

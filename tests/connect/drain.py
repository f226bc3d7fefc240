"""Read a source to its end, in pieces, through the JSON that a checkpoint would hold."""

import json

from millstream.connect import Slice


def drain(source, rows, columns=None):
    """All good rows with their numbers, all errors, and the largest heartbeat."""
    position, good, errors, beats = source.start(), [], [], []
    while True:
        slices, position, ended = source.plan(_through_json(position), rows)
        assert sum(s.rows or 0 for s in slices) <= rows
        for piece in slices:
            read_batch = source.read(
                Slice.from_json(_through_json(piece.to_json())), columns or source.schema.names
            )
            read_batch.rows.validate(full=True)
            assert read_batch.rows.num_rows == len(read_batch.seq)
            good += list(
                zip(
                    read_batch.seq.tolist(),
                    (tuple(r.values()) for r in read_batch.rows.to_pylist()),
                )
            )
            errors += [tuple(row.values()) for row in read_batch.errors.to_pylist()]
            beats += [beat for _, beat in read_batch.beats]
        if ended or not slices:
            return good, errors, max(beats, default=None)


def _through_json(value):
    return json.loads(json.dumps(value))

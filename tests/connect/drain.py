"""Read a source to its end, in pieces, through the JSON that a checkpoint would hold."""

import json

from millstream.connect import Slice


def drain(source, rows, columns=None):
    """All good rows with their numbers, all errors, and the largest heartbeat."""
    position, good, errors, beats = source.start(), [], [], []
    while True:
        slices, position, ended = source.plan(_through_json(position), rows)
        assert sum(s.rows for s in slices) <= rows
        for piece in slices:
            slab = source.read(
                Slice.from_json(_through_json(piece.to_json())), columns or source.schema.names
            )
            slab.rows.validate(full=True)
            assert slab.rows.num_rows == len(slab.seq)
            good += list(zip(slab.seq.tolist(), (tuple(r.values()) for r in slab.rows.to_pylist())))
            errors += [tuple(row.values()) for row in slab.errors.to_pylist()]
            beats += [beat for _, beat in slab.beats]
        if ended or not slices:
            return good, errors, max(beats, default=None)


def _through_json(value):
    return json.loads(json.dumps(value))

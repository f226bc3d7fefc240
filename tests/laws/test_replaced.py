"""A view that others read is replaced in a running job: they are right from then on, at once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from laws.live import Live
from laws.test_live_change import settings, write

BASE = {
    "totals": "SELECT item, count(*) AS n, sum(price) AS total FROM bids [Range 9] GROUP BY item"
}
OLD, NEW = "SELECT item, n FROM totals", "SELECT item, n + 1 AS n, total FROM totals WHERE n > 1"
ABOVE = {
    "few": "SELECT item FROM part WHERE n < 4",
    "sizes": "SELECT n, count(*) AS items FROM part GROUP BY n",
    "both": "SELECT a.item AS item, b.items AS items FROM part a JOIN sizes b ON a.n = b.n",
}


@pytest.mark.parametrize("seed", range(6))
def test_readers_of_a_replaced_view_hold_what_they_would_have_held(
    seed: int, tmp_path: Path
) -> None:
    chance = random.Random(seed)
    write(tmp_path, chance, 60)
    given = settings(chance)
    live = Live(tmp_path, BASE | {"part": OLD} | ABOVE, given)
    whole = Live(tmp_path, BASE | {"part": NEW} | ABOVE, given)
    for _ in range(chance.choice((1, 3, 6))):
        live.batch(), whole.batch()
    if chance.random() < 0.5:
        live.restart()
    fresh = {notice.message.split('"')[1] for notice in live.replace("part", NEW)}
    live.kept.parts.pop("part.changes")  # as the log of a run forgets what had other columns
    assert fresh <= {"both"}, "what a join has seen is not known from its inputs"
    held = ["part", "few", "sizes", *({"both"} - fresh)]
    while live.batch():
        whole.batch()
        for name in held:
            assert live.content(name) == whole.content(name), name
    assert live.told("totals") == whole.told("totals"), "it was there before, and goes on"

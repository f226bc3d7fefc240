"""A view that others read is replaced in a running job: they are right from then on, at once."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from laws.live import Live
from laws.scale import SCALE
from laws.test_live_change import settings, write
from millstream.database import Database
from millstream.local.host import LocalHost
from oracle.chains import random_chain

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


def held_by(host: LocalHost, name: str) -> Counter:
    """The rows of a stored result."""
    return Counter(zip(*(c.to_pylist() for c in host.driver.snapshot.content(name).columns)))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10 * SCALE))
def test_a_view_in_the_middle_of_a_chain_is_replaced(seed: int, tmp_path: Path) -> None:
    """All views hold what they would if it had been so from the start; those of which a notice says
    that they begin with a part of the rows are left out, with who reads them."""
    chance, chain = random.Random(seed), random_chain(seed)
    texts = chain.write(tmp_path).replace("STREAMED", "COMPLETE").split("\n")
    place = chance.choice([i for i, text in enumerate(texts) if " COMPLETE VIEW " in text])
    head, _, query = texts[place].rstrip(";").partition(" AS ")
    other = f"{head} AS SELECT k, v FROM ({query}) AS w WHERE v > 0;"

    def begun(script: list[str]) -> tuple[Database, LocalHost]:
        database = Database(base=str(tmp_path), tell=lambda text: None)
        database.pin("batch_rows", chance.choice(("1", "2", "3")))
        database.execute("\n".join(script))
        return database, LocalHost(database.job(frozenset()), database.sources(follow=False), [])

    state = chance.getstate()
    database, live = begun(texts)
    chance.setstate(state)
    _, whole = begun([*texts[:place], other, *texts[place + 1 :]])
    for _ in range(chance.randint(1, 3)):
        live.batch(), whole.batch()
    database.execute(other.replace("CREATE", "CREATE OR REPLACE", 1))
    told = " ".join(notice.message for notice in live.change(database.job(frozenset())))
    in_part: set[str] = set()
    for text in texts:
        name = re.findall(r"(?:VIEW|STREAM) (\w+)", text)[0]
        words = set(re.findall(r"\w+", text.partition(" AS ")[2]))
        if f'"{name}"' in told or words & in_part:
            in_part.add(name)
    while not live.is_done:
        live.batch(), whole.batch()
        for name in set(chain.views) - in_part:
            assert held_by(live, name) == held_by(whole, name), f"{name}: {other}\n{texts}"

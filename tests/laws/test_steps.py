"""Steps inside a batch: parts of a level that have nothing to do with each other step alone."""

from __future__ import annotations

import pytest

from millstream.database import Database
from millstream.local.host import LocalHost
from millstream.operators import Exchange, GroupBy

LARGE = "SELECT STREAMED count(*) AS n FROM bids [Range 5];"
SMALL = "SELECT STREAMED sum(price) AS total FROM bids [Range 5] WHERE item = 3;"
BOTH = (
    "SELECT STREAMED b.item FROM bids [Range 2] b, bids [Range 3] c "
    "WHERE b.item = c.item AND b.price < c.price;"
)


@pytest.fixture
def host(tmp_path):
    """A host of some queries over a hundred rows, of which a tenth are of item 3."""
    (tmp_path / "bids.csv").write_text(
        "item,price,ts\n" + "".join(f"{i % 10},{i},{i}\n" for i in range(100))
    )

    def make(*queries: str) -> LocalHost:
        database = Database()
        database.pin("buckets", "1")
        database.execute(
            "CREATE STREAM bids (item bigint, price bigint, ts bigint) ORDER BY ts "
            f"SOURCE '{tmp_path}/bids.csv';" + "".join(queries)
        )
        job = database.job()
        sources = {
            name: database.open(stream, follow=False) for name, stream in job.streams.items()
        }
        return LocalHost(job, sources, [])

    return make


def test_flows_share_no_node_and_hold_what_runs_on_a_level(host):
    graph = host(LARGE, SMALL, BOTH).job.graph
    for number, components in graph.components.items():
        nodes = [node for component in components for node in component]
        assert len(nodes) == len(set(nodes))
        landing = {e for e in graph.exchanges if number in graph.landings[e]}
        assert {node for node in nodes if isinstance(node, Exchange)} == landing
        assert {root for root in graph.roots if graph.level[root] == number} <= set(nodes)


def test_a_join_is_one_flow_and_queries_without_common_state_are_several(host):
    sizes = [len(component) for component in host(LARGE, SMALL).job.graph.components[1]]
    assert len(sizes) == 2
    joined = host(BOTH).job.graph.components[1]
    assert len(joined) == 1 and sum(isinstance(n, Exchange) for n in joined[0]) == 2


def test_a_small_query_takes_few_steps_beside_a_large_one(host, monkeypatch):
    monkeypatch.setattr("millstream.engine.level.STEP_ROWS", 10)
    taken: dict[str, int] = {}
    step = GroupBy.step

    def counted(self, *given):
        taken[self.words] = taken.get(self.words, 0) + 1
        return step(self, *given)

    monkeypatch.setattr(GroupBy, "step", counted)
    running = host(LARGE, SMALL)
    running.batch()
    large, small = (next(n for w, n in taken.items() if f in w) for f in ("count", "sum"))
    assert (large, small) == (10, 1)

"""One Spark session for all tests that need one, and batches that go anywhere."""

import random

import pytest


@pytest.fixture(scope="session")
def spark():
    from millstream.spark.session import make_session

    session = make_session("local[2]")
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def placed_at_random(request, monkeypatch) -> None:
    """Where no placement was asked for, batches of tests go to the driver and to the executors by
    chance: all of them are so small that they would stay in the driver."""
    if request.node.get_closest_marker("spark") is None:
        return
    from millstream.engine.placement import AUTO, DRIVER, EXECUTORS
    from millstream.spark.host import SparkHost

    def place(host, number, tasks) -> str:
        asked = host.job.settings.placement
        chance = random.Random(f"{request.node.name} {number}")
        return chance.choice((DRIVER, EXECUTORS)) if asked == AUTO else asked

    monkeypatch.setattr(SparkHost, "place", place)

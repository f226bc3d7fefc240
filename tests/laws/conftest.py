"""Batches of generated scripts are carried out on threads, by chance."""

import random

import pytest


@pytest.fixture(autouse=True)
def side_by_side_at_random(request, monkeypatch) -> None:
    """Batches of tests are too small for threads. By chance, these take some all the same."""
    if random.Random(request.node.name).random() < 0.5:
        monkeypatch.setattr("millstream.engine.carrier.SIDE_BY_SIDE", 0)
        monkeypatch.setattr("millstream.local.host.threads_here", lambda: 3)

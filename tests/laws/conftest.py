"""What small batches would never meet is met by chance: threads, and machine code of aggregates."""

import random

import pytest

from laws.scale import SCALE

NATIVE = 0.2 if SCALE > 1 else 0.02
"""The share of cases that run aggregates of one's own as machine code, which is slow to make."""


@pytest.fixture(autouse=True)
def side_by_side_at_random(request, monkeypatch) -> None:
    """Batches of tests are too small for threads. By chance, these take some all the same."""
    if random.Random(request.node.name).random() < 0.5:
        monkeypatch.setattr("millstream.engine.carrier.SIDE_BY_SIDE", 0)
        monkeypatch.setattr("millstream.local.host.threads_here", lambda: 3)


@pytest.fixture(autouse=True)
def native_at_random(request, monkeypatch) -> None:
    """Few events are taken by the general machine. By chance, machine code is made for them."""
    if random.Random(f"native {request.node.name}").random() < NATIVE:
        monkeypatch.setattr("millstream.blocks.choose.FEW", -1)

"""Delays between attempts."""

import random

from watchkeeper.aio.backoff import Backoff


def test_delays_grow_to_the_limit() -> None:
    backoff = Backoff(initial=1, limit=6, factor=2, jitter=0)
    assert [backoff.next() for _ in range(5)] == [1, 2, 4, 6, 6]
    backoff.reset()
    assert backoff.next() == 1


def test_jitter_only_shortens_and_no_two_clients_wait_alike() -> None:
    delays = [Backoff(initial=8, jitter=0.5, limit=8, chance=random.Random(seed)).next() for seed in range(50)]
    assert all(4 <= delay <= 8 for delay in delays)
    assert len(set(delays)) > 40

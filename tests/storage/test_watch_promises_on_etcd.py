"""The promises of a watch, kept on real etcd: the load and the checker of `test_watch_promises`."""

from __future__ import annotations

import pytest
from test_watch_promises import check, play

from watchkeeper.testing.etcd import find_etcd
from watchkeeper.testing.etcd_shared import empty_store, run

pytestmark = [
    pytest.mark.etcd,
    pytest.mark.skipif(find_etcd() is None, reason="there is no etcd here"),
]


def prove(monkeypatch: pytest.MonkeyPatch, *, cached: bool, seed: int, writes: int, observations: int) -> None:
    monkeypatch.setattr("watchkeeper.storage.cacher.bookmarks.PERIOD_SECONDS", 1.0)

    async def scenario() -> None:
        truth, record = await play(await empty_store(), cached=cached, seed=seed, writes=writes)
        assert check(truth, record) > observations
        assert record.sessions
        assert record.lists

    run(scenario())


@pytest.mark.parametrize("cached", [True, False], ids=["cacher", "store"])
def test_the_promises_hold(cached: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    prove(monkeypatch, cached=cached, seed=7, writes=120, observations=50)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(100, 103))
def test_the_promises_hold_for_long(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    prove(monkeypatch, cached=True, seed=seed, writes=1_000, observations=1_000)

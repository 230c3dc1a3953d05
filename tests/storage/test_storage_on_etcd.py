"""Every storage and watch case on real etcd: a single member, and a part of them on three with TLS."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from watchkeeper.kv.etcd import EtcdConfig, open_etcd
from watchkeeper.testing import storage_suite, watch_suite
from watchkeeper.testing.clock import FastClock
from watchkeeper.testing.etcd import EtcdCluster, find_etcd, running_cluster
from watchkeeper.testing.etcd_shared import emptied, empty_store, run
from watchkeeper.testing.storage_suite import Case, Rig, case_name, prove

pytestmark = [
    pytest.mark.etcd,
    pytest.mark.skipif(find_etcd() is None, reason="there is no etcd here"),
]

CASES = storage_suite.CASES + watch_suite.CASES
PART = CASES[::5]


@pytest.mark.parametrize("case", CASES, ids=case_name)
@pytest.mark.parametrize("cached", [False, True], ids=["store", "cacher"])
def test_a_single_member(case: Case, cached: bool) -> None:
    async def play() -> None:
        await prove(case, Rig(await empty_store(), cached=cached, clock=FastClock(speed=20)))

    run(play())


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with running_cluster(tmp_path_factory.mktemp("etcd"), size=3, tls=True) as running:
        yield running


@pytest.mark.parametrize("case", PART, ids=case_name)
def test_three_members_with_tls(case: Case, cluster: EtcdCluster) -> None:
    async def play() -> None:
        certificates = cluster.certificates
        assert certificates is not None
        kv = open_etcd(
            EtcdConfig(
                cluster.urls,
                ca_file=certificates / "ca.crt",
                cert_file=certificates / "client.crt",
                key_file=certificates / "client.key",
            )
        )
        await prove(case, Rig(await emptied(kv), cached=True, clock=FastClock(speed=20)))

    run(play())

"""Two servers on one etcd: one of them runs the controllers, and clients find both."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.waiting import eventually, exists

from watchkeeper.testing.etcd import find_etcd
from watchkeeper.testing.etcd_shared import shared_cluster
from watchkeeper.testing.handle import Handle, RequestFailed
from watchkeeper.testing.server_process import ServerProcess

pytestmark = [
    pytest.mark.etcd,
    pytest.mark.skipif(find_etcd() is None, reason="there is no etcd here"),
]

Object = dict[str, Any]
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/watchkeeper-controllers"
LEASE_SECONDS = 3.0


class Pair:
    """Two servers; each can be asked, stopped and killed."""

    def __init__(self, prefix: str) -> None:
        self.processes = [
            ServerProcess(
                storage="etcd://" + ",".join(url.removeprefix("http://") for url in shared_cluster().urls),
                etcd_prefix=prefix,
                advertise_address=address,
                leader_elect_lease_duration=LEASE_SECONDS,
                leader_elect_renew_deadline=2,
                leader_elect_retry_period=0.5,
            )
            for address in ("192.0.2.1", "192.0.2.2")
        ]
        self.servers: list[Handle] = []
        self.holders: list[str] = []

    def start(self) -> None:
        """One after the other, so that the first one leads."""
        for process in self.processes:
            self.servers.append(process.start())
            eventually(lambda: holder(self.servers[-1]) != "", "somebody leads")
            self.holders.append(holder(self.servers[-1]))

    def stop(self) -> None:
        for process in self.processes:
            process.stop()


@pytest.fixture
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    made = Pair(f"/election/{request.node.name}")
    try:
        made.start()
        yield made
    finally:
        made.stop()


def holder(server: Handle) -> str:
    try:
        return str(server.request("GET", LEASE)["spec"].get("holderIdentity") or "")
    except RequestFailed as error:
        assert error.status == 404
        return ""


def orphan_is_collected(server: Handle, name: str) -> None:
    """An object whose owner is deleted goes too."""
    path = "/api/v1/namespaces/default/configmaps"
    owner = server.request("POST", path, {"metadata": {"name": f"{name}-owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": f"{name}-owner", "uid": owner["metadata"]["uid"]}
    server.request("POST", path, {"metadata": {"name": name, "ownerReferences": [reference]}})
    server.request("DELETE", f"{path}/{name}-owner")
    eventually(lambda: not exists(server, f"{path}/{name}"), "what its owner left behind is collected")


def namespace_ends(server: Handle, name: str) -> None:
    server.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    server.request("POST", f"/api/v1/namespaces/{name}/configmaps", {"metadata": {"name": "inside"}})
    server.request("DELETE", f"/api/v1/namespaces/{name}")
    eventually(lambda: not exists(server, f"/api/v1/namespaces/{name}"), "the namespace ends")


def addresses(server: Handle) -> list[str]:
    found = server.request("GET", "/api/v1/namespaces/default/endpoints/kubernetes")
    return [each["ip"] for subset in found["subsets"] for each in subset["addresses"]]


def test_the_other_goes_on_when_the_one_that_runs_the_controllers_is_killed(pair: Pair) -> None:
    other = pair.servers[1]
    assert pair.holders[0] == pair.holders[1] == holder(other)
    orphan_is_collected(other, "before")
    os.kill(pair.processes[0].pid, signal.SIGKILL)
    since = time.monotonic()
    eventually(lambda: holder(other) not in ("", pair.holders[0]), "the other one leads")
    assert time.monotonic() - since < LEASE_SECONDS + 5
    orphan_is_collected(other, "after")
    namespace_ends(other, "after")
    # What the killed one was told while it lived is not lost either.
    assert other.request("GET", LEASE)["spec"]["leaseTransitions"] == 1


def test_the_other_goes_on_at_once_when_it_stops_in_order(pair: Pair) -> None:
    other = pair.servers[1]
    eventually(lambda: addresses(other) == ["192.0.2.1", "192.0.2.2"], "both are among the endpoints")
    slices = other.request("GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")
    assert [each["addresses"] for each in slices["endpoints"]] == [["192.0.2.1"], ["192.0.2.2"]]
    pair.processes[0].stop()
    since = time.monotonic()
    # It has released the Lease, so nobody waits for it to run out.
    eventually(lambda: holder(other) not in ("", pair.holders[0]), "the other one leads")
    assert time.monotonic() - since < LEASE_SECONDS - 0.5
    assert addresses(other) == ["192.0.2.2"]
    orphan_is_collected(other, "after")

"""Two servers on one etcd: one API, whichever of them is asked."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, watch
from tests.waiting import eventually

from watchkeeper.testing.etcd import find_etcd
from watchkeeper.testing.etcd_shared import shared_cluster
from watchkeeper.testing.handle import Handle, RequestFailed
from watchkeeper.testing.server_process import ServerProcess

pytestmark = [
    pytest.mark.etcd,
    pytest.mark.skipif(find_etcd() is None, reason="there is no etcd here"),
]

Object = dict[str, Any]
PREFIX = "/two-servers"
KUBECTL = Path(sys.executable).parent / "kubectl"


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Handle, Handle]]:
    options: Object = {
        "storage": "etcd://" + ",".join(url.removeprefix("http://") for url in shared_cluster().urls),
        "etcd_prefix": PREFIX,
        "compaction_interval": 2,
    }
    with ServerProcess(**options) as one, ServerProcess(**options) as two:
        yield one, two


@pytest.fixture
def namespace(servers: tuple[Handle, Handle]) -> Iterator[str]:
    with servers[0].namespace() as name:
        yield name


def config_map(name: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def node_port_service(name: str, **spec: Any) -> Object:
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 81}]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"type": "NodePort", "ports": ports, **spec},
    }


def status_of(server: Handle, method: str, path: str, body: Any = None, **headers: str) -> int:
    try:
        server.request(method, path, body, headers=headers)
    except RequestFailed as error:
        return error.status
    return 200


class Watching:
    """The events of one watch, as they come."""

    def __init__(self, server: Handle, path: str) -> None:
        request = urllib.request.Request(server.url + path, headers={"Authorization": f"Bearer {server.token}"})
        self._answer = urllib.request.urlopen(request, timeout=30, context=server.ssl_context())
        self._events: queue.Queue[Object] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            for line in self._answer:
                self._events.put(json.loads(line))
        except (OSError, ValueError, AttributeError):
            return

    def take(self, count: int) -> list[tuple[str, str, str]]:
        found = [self._events.get(timeout=10) for _ in range(count)]
        return [(e["type"], e["object"]["metadata"]["name"], e["object"]["metadata"]["resourceVersion"]) for e in found]


def test_what_one_acknowledges_the_other_shows_at_once(servers: tuple[Handle, Handle], namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for n in range(20):
        writer, reader = servers[n % 2], servers[1 - n % 2]
        made = writer.request("POST", path, config_map(f"c{n}"))
        assert reader.request("GET", f"{path}/c{n}") == made
        assert len(reader.request("GET", path)["items"]) == n + 1
        version = made["metadata"]["resourceVersion"]
        newer = reader.request("GET", f"{path}?resourceVersion={version}&resourceVersionMatch=NotOlderThan")
        assert len(newer["items"]) == n + 1
    first, second = (server.request("GET", path) for server in servers)
    assert first["items"] == second["items"]


def test_of_two_writes_to_one_state_only_one_takes_place(servers: tuple[Handle, Handle], namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    servers[0].request("POST", path, config_map("counter", n="0"))

    def increment(worker: int) -> int:
        server, refused = servers[worker % 2], 0
        for _ in range(10):
            while True:
                obj = server.request("GET", f"{path}/counter")
                obj["data"]["n"] = str(int(obj["data"]["n"]) + 1)
                if status_of(server, "PUT", f"{path}/counter", obj) == 200:
                    break
                refused += 1
        return refused

    with ThreadPoolExecutor(4) as pool:
        refused = sum(pool.map(increment, range(4)))
    for server in servers:
        assert server.request("GET", f"{path}/counter")["data"]["n"] == "40"
    assert refused > 0


def test_watches_of_both_tell_the_same(servers: tuple[Handle, Handle], namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    start = servers[1].request("GET", path)["metadata"]["resourceVersion"]
    watches = [Watching(server, f"{path}?watch=1&resourceVersion={start}") for server in servers]
    for n in range(10):
        server = servers[n % 2]
        server.request("POST", path, config_map(f"c{n}"))
        servers[1 - n % 2].request("PUT", f"{path}/c{n}", config_map(f"c{n}", changed="yes"))
        server.request("DELETE", f"{path}/c{n}")
    one, two = (watching.take(30) for watching in watches)
    assert one == two
    assert [event[:2] for event in one[:3]] == [("ADDED", "c0"), ("MODIFIED", "c0"), ("DELETED", "c0")]
    versions = [int(event[2]) for event in one]
    assert versions == sorted(set(versions))


def test_one_candidate_wins_each_election(servers: tuple[Handle, Handle], namespace: str) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"

    def lease(holder: str, version: str = "") -> Object:
        meta = {"name": "leader", **({"resourceVersion": version} if version else {})}
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": meta,
            "spec": {"holderIdentity": holder, "leaseDurationSeconds": 15},
        }

    with ThreadPoolExecutor(8) as pool:
        created = list(pool.map(lambda n: status_of(servers[n % 2], "POST", path, lease(f"c{n}")), range(8)))
        assert sorted(created) == [200] + [409] * 7
        for term in range(5):
            version = servers[0].request("GET", f"{path}/leader")["metadata"]["resourceVersion"]
            bids = [(servers[n % 2], lease(f"c{n} of term {term}", version)) for n in range(8)]
            taken = list(pool.map(lambda bid: status_of(bid[0], "PUT", f"{path}/leader", bid[1]), bids))
            assert sorted(taken) == [200] + [409] * 7
            winner = f"c{taken.index(200)} of term {term}"
            for server in servers:
                assert server.request("GET", f"{path}/leader")["spec"]["holderIdentity"] == winner


def test_services_get_addresses_and_ports_of_their_own(servers: tuple[Handle, Handle], namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/services"
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda n: servers[n % 2].request("POST", path, node_port_service(f"s{n}")), range(40)))
    addresses = [service["spec"]["clusterIP"] for service in made]
    ports = [port["nodePort"] for service in made for port in service["spec"]["ports"]]
    assert (len(set(addresses)), len(set(ports))) == (40, 80)
    known = servers[1].request("GET", "/apis/networking.k8s.io/v1/ipaddresses")["items"]
    assert set(addresses) <= {each["metadata"]["name"] for each in known}


def test_what_one_has_given_the_other_refuses_until_it_is_free(servers: tuple[Handle, Handle], namespace: str) -> None:
    one, two = servers
    path = f"/api/v1/namespaces/{namespace}/services"
    ports = [{"name": "a", "port": 80, "nodePort": 30007}]
    one.request("POST", path, node_port_service("first", clusterIP="10.0.0.7", ports=ports))
    with pytest.raises(RequestFailed, match="provided IP is already allocated"):
        two.request("POST", path, node_port_service("second", clusterIP="10.0.0.7"))
    with pytest.raises(RequestFailed, match="provided port is already allocated"):
        two.request("POST", path, node_port_service("second", ports=ports))
    one.request("DELETE", f"{path}/first")
    taken = two.request("POST", path, node_port_service("second", clusterIP="10.0.0.7", ports=ports))
    assert taken["spec"]["clusterIP"] == "10.0.0.7"
    two.request("PATCH", f"{path}/second", {"metadata": {"finalizers": ["example.com/f"]}})
    two.request("DELETE", f"{path}/second")
    two.request("PATCH", f"{path}/second/status", {"metadata": {"finalizers": None}})
    assert two.request("POST", path, node_port_service("third", clusterIP="10.0.0.7", ports=ports))
    two.request("DELETE", f"{path}/third")
    assert one.request("POST", path, node_port_service("fourth", clusterIP="10.0.0.7", ports=ports))


def test_both_give_the_addresses_of_a_service_cidr_and_none_twice(
    servers: tuple[Handle, Handle], namespace: str
) -> None:
    cidrs, path = "/apis/networking.k8s.io/v1/servicecidrs", f"/api/v1/namespaces/{namespace}/services"
    network: Object = {"metadata": {"name": "small"}, "spec": {"cidrs": ["10.6.0.0/28"]}}
    default = f"{cidrs}/kubernetes/status"
    condition = {"type": "Ready", "reason": "", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    servers[0].request("PATCH", default, {"status": {"conditions": [{**condition, "status": "False"}]}})
    servers[0].request("POST", cidrs, network)
    try:
        eventually(
            lambda: (
                status_of(servers[1], "POST", f"{path}?dryRun=All", node_port_service("d", clusterIP="10.6.0.9")) == 200
            ),
            "the other knows the network",
        )

        def create(n: int) -> str:
            try:
                made = servers[n % 2].request("POST", path, node_port_service(f"c{n}"))
            except RequestFailed as error:
                assert "range is full" in str(error)
                return ""
            address: str = made["spec"]["clusterIP"]
            return address

        with ThreadPoolExecutor(8) as pool:
            given = [address for address in pool.map(create, range(24)) if address]
        assert sorted(given, key=lambda ip: int(ip.rpartition(".")[2])) == [f"10.6.0.{n}" for n in range(1, 15)]
        records = servers[1].request("GET", "/apis/networking.k8s.io/v1/ipaddresses")["items"]
        owners = {each["metadata"]["name"]: each["spec"]["parentRef"]["name"] for each in records}
        services = servers[0].request("GET", path)["items"]
        assert {each["spec"]["clusterIP"]: each["metadata"]["name"] for each in services}.items() <= owners.items()
    finally:
        servers[0].request("PATCH", default, {"status": {"conditions": [{**condition, "status": "True"}]}})
        servers[0].request("DELETE", f"{cidrs}/small")


def test_a_kind_defined_at_one_is_served_by_the_other(servers: tuple[Handle, Handle], namespace: str) -> None:
    one, two = servers
    definition: Object = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "wheels.two.example.com"},
        "spec": {
            "group": "two.example.com",
            "scope": "Namespaced",
            "names": {"plural": "wheels", "singular": "wheel", "kind": "Wheel"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                }
            ],
        },
    }
    one.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    path = f"/apis/two.example.com/v1/namespaces/{namespace}/wheels"
    eventually(lambda: status_of(two, "GET", path) == 200, "the other serves it")
    wheel = {"apiVersion": "two.example.com/v1", "kind": "Wheel", "metadata": {"name": "w"}, "spokes": 36}
    made = two.request("POST", path, wheel)
    eventually(lambda: status_of(one, "GET", path) == 200, "the one serves it")
    assert one.request("GET", f"{path}/w") == made
    one.request("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/wheels.two.example.com")
    eventually(lambda: status_of(two, "GET", path) == 404, "the other serves it no more")


def test_a_role_bound_at_one_counts_at_the_other(servers: tuple[Handle, Handle], namespace: str) -> None:
    one, two = servers
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    pods = f"/api/v1/namespaces/{namespace}/pods"
    alice = {"Impersonate-User": "alice"}
    assert status_of(two, "GET", pods, **alice) == 403
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    one.request("POST", f"{rbac}/roles", {"metadata": {"name": "reader"}, "rules": [rule]})
    binding = {
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}],
    }
    one.request("POST", f"{rbac}/rolebindings", binding)
    eventually(lambda: status_of(two, "GET", pods, **alice) == 200, "alice may read at the other")
    two.request("DELETE", f"{rbac}/rolebindings/reader")
    eventually(lambda: status_of(one, "GET", pods, **alice) == 403, "alice may not read at the one any more")


def test_history_is_forgotten_by_one_for_both(servers: tuple[Handle, Handle], namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    version = servers[0].request("POST", path, config_map("old"))["metadata"]["resourceVersion"]
    exact = f"{path}?resourceVersion={version}&resourceVersionMatch=Exact"
    assert status_of(servers[0], "GET", exact) == 200

    def forgotten() -> bool:
        servers[1].request("PUT", f"{path}/old", config_map("old", now=str(time.time())))
        return all(status_of(server, "GET", exact) in (200, 410) for server in servers) and turns() >= 3

    before = turn_count()

    def turns() -> int:
        return turn_count() - before

    eventually(forgotten, "compaction goes on")
    started = time.monotonic()
    at = turn_count()
    time.sleep(4.5)
    # Two servers, but about one turn per interval.
    assert turn_count() - at <= (time.monotonic() - started) / 2 + 2


def turn_count() -> int:
    """How often the key of compactions has been written."""
    from watchkeeper.kv.etcd import EtcdConfig, open_etcd
    from watchkeeper.testing.etcd_shared import run

    async def read() -> int:
        kv = open_etcd(EtcdConfig(shared_cluster().urls))
        found = (await kv.get(b"compact_rev_key")).kv
        await kv.close()
        return found.version if found is not None else 0

    return run(read())


def test_kubectl_works(servers: tuple[Handle, Handle], namespace: str, tmp_path: Path) -> None:
    if not KUBECTL.exists():
        pytest.skip("kubectl is not installed beside Python")
    one, two = servers

    def kubectl(server: Handle, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [KUBECTL, "-n", namespace, *arguments],
            env={**os.environ, "KUBECONFIG": str(server.kubeconfig), "HOME": str(tmp_path)},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    kubectl(one, "create", "configmap", "there")
    watching = subprocess.Popen(
        [KUBECTL, "-n", namespace, "get", "configmaps", "-w", "-o", "name"],
        env={**os.environ, "KUBECONFIG": str(two.kubeconfig), "HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stdout is not None
        assert watching.stdout.readline() == "configmap/there\n"
        assert kubectl(one, "create", "configmap", "made", "--from-literal=a=1") == "configmap/made created\n"
        manifest = json.dumps(config_map("applied", a="1"))
        assert kubectl(two, "apply", "-f", "-", stdin=manifest) == "configmap/applied created\n"
        manifest = json.dumps(config_map("applied", a="2"))
        assert kubectl(one, "apply", "-f", "-", stdin=manifest) == "configmap/applied configured\n"
        assert kubectl(two, "get", "configmap", "applied", "-o", "jsonpath={.data.a}") == "2"
        assert "deleted" in kubectl(two, "delete", "configmap", "made")
        seen = [watching.stdout.readline().strip() for _ in range(4)]
        assert seen == [f"configmap/{name}" for name in ("made", "applied", "applied", "made")]
    finally:
        watching.kill()
        watching.communicate()


def test_the_official_client_follows_one_while_the_other_writes(servers: tuple[Handle, Handle], namespace: str) -> None:
    one, two = (client.CoreV1Api(config.new_client_from_config(str(server.kubeconfig))) for server in servers)
    listed = two.list_namespaced_secret(namespace)
    for n in range(3):
        one.create_namespaced_secret(namespace, client.V1Secret(metadata=client.V1ObjectMeta(name=f"s{n}")))
    seen = []
    stream = watch.Watch()
    for event in stream.stream(
        two.list_namespaced_secret,
        namespace,
        resource_version=listed.metadata.resource_version,
        timeout_seconds=10,
    ):
        seen.append((event["type"], event["object"].metadata.name))
        if len(seen) == 3:
            stream.stop()
    assert seen == [("ADDED", f"s{n}") for n in range(3)]


@pytest.mark.parametrize("attempt", range(3))
def test_servers_that_start_together_complain_of_nothing(attempt: int) -> None:
    options: Object = {
        "storage": "etcd://" + ",".join(url.removeprefix("http://") for url in shared_cluster().urls),
        "etcd_prefix": f"/together-{attempt}",
    }
    processes = [ServerProcess(**options) for _ in range(2)]
    try:
        with ThreadPoolExecutor(2) as pool:
            handles = list(pool.map(ServerProcess.start, processes))
        for process, handle in zip(processes, handles, strict=True):
            found = handle.request("GET", "/api/v1/namespaces/default/services/kubernetes")
            assert found["spec"]["clusterIP"] == "10.0.0.1"
            assert "ERROR" not in process.log()
    finally:
        for process in processes:
            process.stop()

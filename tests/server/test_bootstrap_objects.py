"""What every cluster begins with, and what a start puts right."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from watchkeeper.authz.bootstrap.reconcile import reconciled
from watchkeeper.server.bootstrap import Bootstrap
from watchkeeper.server.client_trust import Trust
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.own_service import advertised_address, own_endpoints
from watchkeeper.server.pki import serving_certificate
from watchkeeper.server.server import Server
from watchkeeper.server.start_hooks import hooks_taken
from watchkeeper.storage.interface import Interface
from watchkeeper.testing import Server as InProcess


def test_the_server_has_a_service_with_the_first_address() -> None:
    with InProcess() as server:
        service = server.request("GET", "/api/v1/namespaces/default/services/kubernetes")
        spec = service["spec"]
        assert (spec["clusterIP"], spec["type"]) == ("10.0.0.1", "ClusterIP")
        port = int(server.url.rpartition(":")[2])
        assert spec["ports"] == [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}]
        address = server.request("GET", "/apis/networking.k8s.io/v1/ipaddresses/10.0.0.1")
        assert address["spec"]["parentRef"]["name"] == "kubernetes"
        cidr = server.request("GET", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
        assert cidr["spec"] == {"cidrs": ["10.0.0.0/24"]}
        assert [(c["type"], c["status"]) for c in cidr["status"]["conditions"]] == [("Ready", "True")]
        # Endpoints cannot have loopback addresses.
        assert server.request("GET", "/apis/discovery.k8s.io/v1/endpointslices")["items"] == []


def test_flow_schemas_lead_to_priority_levels() -> None:
    with InProcess() as server:
        base = "/apis/flowcontrol.apiserver.k8s.io/v1"
        levels = {
            item["metadata"]["name"]: item["spec"]
            for item in server.request("GET", f"{base}/prioritylevelconfigurations")["items"]
        }
        schemas = server.request("GET", f"{base}/flowschemas")["items"]
        assert {"exempt", "catch-all", "global-default"} <= levels.keys()
        assert levels["exempt"]["type"] == "Exempt"
        assert len(schemas) == 11
        for schema in schemas:
            assert schema["spec"]["priorityLevelConfiguration"]["name"] in levels
            (condition,) = schema["status"]["conditions"]
            assert (condition["type"], condition["status"]) == ("Dangling", "False")


def test_a_second_start_writes_nothing_and_a_changed_role_is_completed(tmp_path: Path) -> None:
    options = ServeOptions(data_dir=tmp_path, port=0, compaction_interval=0)

    def started(use: Callable[[Server, Interface, str], Awaitable[Any]]) -> Any:
        async def run() -> Any:
            server = Server(options)
            await server.start()
            try:
                store = server.assembly.store("rbac.authorization.k8s.io", "clusterroles")
                return await use(server, store.storage, store.key("", "system:discovery"))
            finally:
                await server.stop()

        return asyncio.run(run())

    async def revision(server: Server, *_: Any) -> int:
        return await server.kv.current_revision()

    async def weaken(_: Server, storage: Interface, key: str) -> None:
        await storage.guaranteed_update(key, lambda current: {**current.data(), "rules": []} if current else {})

    async def rules(_: Server, storage: Interface, key: str) -> Any:
        return (await storage.get(key)).data()["rules"]

    first = started(revision)
    assert started(revision) == first
    started(weaken)
    assert any(rule["nonResourceURLs"] == ["/version"] for rule in started(rules))


def test_a_server_that_allows_everything_has_the_initial_roles_all_the_same(tmp_path: Path) -> None:
    async def run() -> None:
        server = Server(ServeOptions(data_dir=tmp_path, storage="memory:", port=0, authorization="AlwaysAllow"))
        await server.start()
        try:
            store = server.assembly.store("rbac.authorization.k8s.io", "clusterroles")
            assert (await store.storage.get(store.key("", "cluster-admin"))).data()["rules"]
            assert "poststarthook/rbac/bootstrap-roles" in hooks_taken(server.options)
        finally:
            await server.stop()

    asyncio.run(run())


def role(*rules: dict[str, Any], **annotations: str) -> dict[str, Any]:
    return {"metadata": {"name": "r", "annotations": annotations}, "rules": list(rules)}


PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}


def test_what_a_role_lacks_is_added_and_what_it_has_besides_stays() -> None:
    own = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    stored = role({**PODS, "verbs": ["get"]}, own)
    found = reconciled(stored, role(PODS))
    assert found is not None
    assert found["rules"] == [*stored["rules"], {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    assert reconciled(found, role(PODS)) is None


def test_a_role_that_wants_to_stay_as_it_is_stays() -> None:
    stored = role(**{"rbac.authorization.kubernetes.io/autoupdate": "false"})
    assert reconciled(stored, role(PODS)) is None


def test_who_was_kept_from_discovery_is_kept_from_what_was_a_part_of_it(tmp_path: Path) -> None:
    path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    changed = {
        "metadata": {"annotations": {"rbac.authorization.kubernetes.io/autoupdate": "false", "mine": "x"}},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "jane"}],
    }
    with InProcess(storage=f"sqlite:{tmp_path / 'db'}", controllers=()) as server:
        discovery = server.request("PATCH", f"{path}/system:discovery", changed)
        server.request("DELETE", f"{path}/system:public-info-viewer")
    with InProcess(storage=f"sqlite:{tmp_path / 'db'}", controllers=()) as server:
        found = server.request("GET", f"{path}/system:public-info-viewer")
    assert found["subjects"] == changed["subjects"]
    assert found["roleRef"]["name"] == "system:public-info-viewer"
    assert [found["metadata"][part] for part in ("labels", "annotations")] == [
        discovery["metadata"][part] for part in ("labels", "annotations")
    ]


def test_labels_and_subjects_are_completed() -> None:
    jane, joe = {"kind": "User", "name": "jane"}, {"kind": "User", "name": "joe"}
    stored = {"metadata": {"name": "b", "labels": {"mine": "x"}}, "subjects": [joe]}
    expected = {"metadata": {"name": "b", "labels": {"theirs": "y"}}, "subjects": [jane]}
    found = reconciled(stored, expected)
    assert found is not None
    assert found["subjects"] == [joe, jane]
    assert found["metadata"]["labels"] == {"mine": "x", "theirs": "y"}


def test_a_collecting_role_keeps_its_rules_and_gets_its_selectors() -> None:
    rule = {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}
    stored = role(PODS)
    found = reconciled(stored, {**role(), "aggregationRule": rule})
    assert found is not None
    assert (found["rules"], found["aggregationRule"]) == ([PODS], rule)


@pytest.mark.parametrize(
    ("bind", "address"),
    [("127.0.0.1", ""), ("::1", ""), ("192.0.2.7", "192.0.2.7"), ("2001:db8::1", "2001:db8::1"), ("nonsense", "")],
)
def test_only_addresses_that_others_reach_are_advertised(bind: str, address: str) -> None:
    assert advertised_address(bind) == address


def test_endpoints_say_where_the_server_listens() -> None:
    endpoints, piece = own_endpoints(["192.0.2.7"], 6443)
    assert endpoints["subsets"][0]["addresses"] == [{"ip": "192.0.2.7"}]
    assert (piece["addressType"], piece["endpoints"][0]["addresses"]) == ("IPv4", ["192.0.2.7"])
    assert piece["ports"] == endpoints["subsets"][0]["ports"] == [{"name": "https", "port": 6443, "protocol": "TCP"}]


def test_the_first_address_says_which_family_the_slice_has() -> None:
    endpoints, piece = own_endpoints(["2001:db8::1", "192.0.2.7", "2001:db8::2"], 6443)
    assert [each["ip"] for each in endpoints["subsets"][0]["addresses"]] == ["2001:db8::1", "192.0.2.7", "2001:db8::2"]
    assert piece["addressType"] == "IPv6"
    assert [each["addresses"] for each in piece["endpoints"]] == [["2001:db8::1"], ["2001:db8::2"]]


def _authority(folder: Path) -> str:
    """The certificate of an authority of its own."""
    folder.mkdir()
    return serving_certificate(folder, "127.0.0.1").ca_pem.decode()


def test_a_server_that_others_reach_has_endpoints_and_says_whom_it_trusts(tmp_path: Path) -> None:
    authorities = [_authority(tmp_path / name) for name in ("one", "two")]

    async def run() -> list[Any]:
        server = Server(ServeOptions(data_dir=tmp_path, storage="memory:", port=0))
        await server.start()
        try:
            assembly = server.assembly
            bootstrap = Bootstrap(assembly.scheme, lambda r: assembly.store(r.group, r.resource), assembly.ownership)

            async def read(group: str, resource: str, namespace: str, name: str) -> Any:
                store = assembly.store(group, resource)
                return (await store.storage.get(store.key(namespace, name))).data()

            found = []
            for address, authority in (("192.0.2.7", authorities[0]), ("192.0.2.8", authorities[1])):
                await bootstrap.own_service(("10.0.0.0/24",), 6443, Trust(clients=authority))
                await bootstrap.own_endpoints([address], 6443)
                endpoints = await read("", "endpoints", "default", "kubernetes")
                piece = await read("discovery.k8s.io", "endpointslices", "default", "kubernetes")
                trusted = await read("", "configmaps", "kube-system", "extension-apiserver-authentication")
                found.append((endpoints["subsets"], piece["endpoints"], trusted["data"]))
            return found
        finally:
            await server.stop()

    both = (authorities[0], "".join(authorities))
    for found, address, authority in zip(asyncio.run(run()), ("192.0.2.7", "192.0.2.8"), both, strict=True):
        subsets, endpoints, trusted = found
        assert subsets == [
            {"addresses": [{"ip": address}], "ports": [{"name": "https", "port": 6443, "protocol": "TCP"}]}
        ]
        assert endpoints == [{"addresses": [address], "conditions": {"ready": True}}]
        assert trusted == {"client-ca-file": authority}

"""What the controllers do about objects of another API server: with namespaces, owners and dependents."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from aggregated import (
    APISERVICES,
    NAME,
    SERVICES,
    api_service,
    condition,
    external_service,
    far_server,
    front_options,
    make_folder,
    port_of,
)
from tests.waiting import eventually, exists

from watchkeeper.controllers import garbage_collector
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle

Object = dict[str, Any]
HOLD = "example.com/hold"
MAPS = "/api/v1/namespaces/default/configmaps"
LAMPS = "/apis/far.io/v1/namespaces/default/lamps"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("far"))


def start_far(folder: Path, storage: Path, port: int = 0) -> Any:
    """The other server, which keeps its objects and leaves it to the front what namespaces there are."""
    options = {"storage": f"sqlite:{storage}/far.db", "disable_admission_plugins": ("NamespaceLifecycle",)}
    return far_server(folder, port=port, **options)


@contextmanager
def start_front(folder: Path) -> Iterator[Handle]:
    """The server with the controllers; it knows of the Service that leads to the other server."""
    options = {**front_options(folder), "controllers": ("namespace", "garbage-collector")}
    with Server(**options) as running:
        running.request("POST", SERVICES, external_service())
        yield running


def watches(server: Handle) -> int:
    """How many watches of lamps are open."""
    found = re.findall(r"^apiserver_longrunning_requests\{.*lamps.*\} (\d+)", server.request("GET", "/metrics"), re.M)
    return sum(map(int, found))


def join(front: Handle, folder: Path, far: Handle) -> None:
    """Have the front pass requests on; returns when it follows the lamps."""
    front.request("POST", APISERVICES, api_service(folder, port_of(far.url)))
    eventually(lambda: condition(front)[0] == "True" and freshness(front) == "Current" and watches(far) == 1)


def freshness(front: Handle) -> str:
    accept = {"Accept": "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
    items = front.request("GET", "/apis", headers=accept)["items"]
    found = [item["versions"][0]["freshness"] for item in items if item["metadata"]["name"] == "far.io"]
    return str(found[0]) if found else ""


def look_again(front: Handle, expected: str) -> None:
    """Have the front find out now whether the other server is there."""
    priority = front.request("GET", f"{APISERVICES}/{NAME}")["spec"]["versionPriority"]
    front.request("PATCH", f"{APISERVICES}/{NAME}", {"spec": {"versionPriority": priority + 1}})
    available = "True" if expected == "Current" else "False"
    eventually(lambda: condition(front)[0] == available and freshness(front) == expected)


@pytest.fixture(scope="module")
def far(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handle]:
    with start_far(folder, tmp_path_factory.mktemp("storage")) as running:
        yield running


@pytest.fixture(scope="module")
def front(folder: Path, far: Handle) -> Iterator[Handle]:
    with start_front(folder) as running:
        join(running, folder, far)
        yield running


def make(server: Handle, path: str, name: str, *owners: Object, **metadata: Any) -> Object:
    """An object that was made; returns a reference to it that blocks its deletion."""
    head = ("far.io/v1", "Lamp") if path.endswith("lamps") else ("v1", "ConfigMap")
    meta = {"name": name, "ownerReferences": list(owners), **metadata}
    made = server.request("POST", path, {"apiVersion": head[0], "kind": head[1], "metadata": meta})
    reference = {"apiVersion": head[0], "kind": head[1], "name": name, "uid": made["metadata"]["uid"]}
    return {**reference, "blockOwnerDeletion": True}


def free(server: Handle, path: str) -> None:
    server.request("PATCH", path, {"metadata": {"finalizers": None}})


def metadata(server: Handle, path: str) -> Object:
    found: Object = server.request("GET", path)["metadata"]
    return found


def collected_so_far(front: Handle) -> None:
    """Returns when an object that is made now, whose owner is absent, has been looked at and is gone."""
    absent = {"apiVersion": "v1", "kind": "Secret", "name": "absent", "uid": "absent"}
    made = front.request("POST", MAPS, {"metadata": {"generateName": "last-", "ownerReferences": [absent]}})
    eventually(lambda: not exists(front, f"{MAPS}/{made['metadata']['name']}"))


def namespace(front: Handle, name: str) -> str:
    """The path of the lamps of a new namespace."""
    front.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
    return f"/apis/far.io/v1/namespaces/{name}/lamps"


def told(front: Handle, name: str, kind: str) -> tuple[str, str, str]:
    """Status, reason and message of a condition of a namespace."""
    conditions = front.request("GET", f"/api/v1/namespaces/{name}")["status"].get("conditions") or ()
    found: Object = next((each for each in conditions if each["type"] == kind), {})
    return found.get("status", ""), found.get("reason", ""), found.get("message", "")


# -- namespaces ---------------------------------------------------------------------------------------------------


def test_what_another_server_has_in_a_namespace_goes_with_it(front: Handle, far: Handle) -> None:
    lamps = namespace(front, "dark")
    make(front, lamps, "a")
    make(front, lamps, "b")
    make(front, LAMPS, "elsewhere")
    front.request("DELETE", "/api/v1/namespaces/dark")
    eventually(lambda: not exists(front, "/api/v1/namespaces/dark"))
    assert far.request("GET", lamps)["items"] == []
    assert exists(far, f"{LAMPS}/elsewhere")


def test_a_namespace_waits_for_finalizers_of_objects_of_another_server(front: Handle, far: Handle) -> None:
    lamps = namespace(front, "held")
    make(front, lamps, "a", finalizers=[HOLD])
    make(front, lamps, "b", finalizers=[HOLD])
    front.request("DELETE", "/api/v1/namespaces/held")
    message = "Some resources are remaining: lamps.far.io has 2 resource instances"
    eventually(lambda: told(front, "held", "NamespaceContentRemaining") == ("True", "SomeResourcesRemain", message))
    message = f"Some content in the namespace has finalizers remaining: {HOLD} in 2 resource instances"
    assert told(front, "held", "NamespaceFinalizersRemaining") == ("True", "SomeFinalizersRemain", message)
    assert told(front, "held", "NamespaceDeletionContentFailure")[0] == "False"
    assert told(front, "held", "NamespaceDeletionDiscoveryFailure")[0] == "False"
    for name in ("a", "b"):
        free(far, f"{lamps}/{name}")
    eventually(lambda: not exists(front, "/api/v1/namespaces/held"))


def test_a_namespace_stays_until_it_is_known_what_another_server_has(folder: Path, tmp_path: Path) -> None:
    with start_front(folder) as front:
        with start_far(folder, tmp_path) as far:
            port = port_of(far.url)
            join(front, folder, far)
            lamps = namespace(front, "dim")
            make(front, lamps, "a")
        look_again(front, "Stale")
        make(front, "/api/v1/namespaces/dim/configmaps", "here")
        front.request("DELETE", "/api/v1/namespaces/dim")
        message = (
            "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: "
            "far.io/v1: stale GroupVersion discovery: far.io/v1"
        )
        eventually(
            lambda: told(front, "dim", "NamespaceDeletionDiscoveryFailure") == ("True", "DiscoveryFailed", message)
        )
        eventually(lambda: not exists(front, "/api/v1/namespaces/dim/configmaps/here"))
        assert front.request("GET", "/api/v1/namespaces/dim")["spec"]["finalizers"] == ["kubernetes"]
        with start_far(folder, tmp_path, port) as far:
            look_again(front, "Current")
            eventually(lambda: not exists(front, "/api/v1/namespaces/dim"))
            assert far.request("GET", lamps)["items"] == []


def test_a_server_that_goes_unnoticed_is_a_failure_to_delete_content(folder: Path, tmp_path: Path) -> None:
    with start_front(folder) as front:
        with start_far(folder, tmp_path) as far:
            join(front, folder, far)
        namespace(front, "dim")
        front.request("DELETE", "/api/v1/namespaces/dim")
        eventually(lambda: told(front, "dim", "NamespaceDeletionContentFailure")[0] == "True")
        _, reason, message = told(front, "dim", "NamespaceDeletionContentFailure")
        assert (reason, message) == (
            "ContentDeletionFailed",
            "Failed to delete all resource types, 1 remaining: the server is currently unable to handle the request",
        )
        front.request("DELETE", f"{APISERVICES}/{NAME}")
        eventually(lambda: not exists(front, "/api/v1/namespaces/dim"))


# -- owners and dependents ----------------------------------------------------------------------------------------


def test_dependents_over_there_go_with_their_owner_here(front: Handle, far: Handle) -> None:
    owner = make(front, MAPS, "owner")
    make(front, LAMPS, "of-owner", owner)
    collected_so_far(front)
    front.request("DELETE", f"{MAPS}/owner")
    eventually(lambda: not exists(far, f"{LAMPS}/of-owner"))


def test_dependents_here_go_with_their_owner_over_there(front: Handle, far: Handle) -> None:
    owner = make(front, LAMPS, "far-owner")
    make(front, MAPS, "of-far-owner", owner)
    collected_so_far(front)
    assert exists(front, f"{MAPS}/of-far-owner")
    far.request("DELETE", f"{LAMPS}/far-owner")
    eventually(lambda: not exists(front, f"{MAPS}/of-far-owner"))


def test_an_owner_that_another_server_does_not_have_is_gone(front: Handle) -> None:
    absent = {"apiVersion": "far.io/v1", "kind": "Lamp", "name": "absent", "uid": "absent"}
    make(front, MAPS, "of-absent", absent)
    make(front, LAMPS, "of-absent", absent)
    eventually(lambda: not exists(front, f"{MAPS}/of-absent") and not exists(front, f"{LAMPS}/of-absent"))


def test_references_to_what_is_gone_are_taken_off_what_has_another_owner(front: Handle, far: Handle) -> None:
    first, second = make(front, MAPS, "first"), make(front, LAMPS, "second")
    make(front, LAMPS, "of-both", first, second)
    front.request("DELETE", f"{MAPS}/first")
    eventually(lambda: [o["name"] for o in metadata(far, f"{LAMPS}/of-both")["ownerReferences"]] == ["second"])
    assert exists(front, f"{LAMPS}/of-both")


@pytest.mark.parametrize(("owners", "dependents"), [(MAPS, LAMPS), (LAMPS, MAPS)])
def test_an_owner_waits_for_dependents_of_another_server(front: Handle, owners: str, dependents: str) -> None:
    owner = make(front, owners, "waiting")
    make(front, dependents, "awaited", owner, finalizers=[HOLD])
    collected_so_far(front)
    front.request("DELETE", f"{owners}/waiting", {"propagationPolicy": "Foreground"})
    eventually(lambda: "deletionTimestamp" in metadata(front, f"{dependents}/awaited"))
    collected_so_far(front)
    assert metadata(front, f"{owners}/waiting")["finalizers"] == ["foregroundDeletion"]
    free(front, f"{dependents}/awaited")
    eventually(lambda: not exists(front, f"{owners}/waiting"))
    assert not exists(front, f"{dependents}/awaited")


@pytest.mark.parametrize(("owners", "dependents"), [(MAPS, LAMPS), (LAMPS, MAPS)])
def test_dependents_of_another_server_can_be_left_as_orphans(front: Handle, owners: str, dependents: str) -> None:
    owner = make(front, owners, "orphaning")
    make(front, dependents, "orphan", owner)
    collected_so_far(front)
    front.request("DELETE", f"{owners}/orphaning", {"propagationPolicy": "Orphan"})
    eventually(lambda: not exists(front, f"{owners}/orphaning"))
    assert "ownerReferences" not in metadata(front, f"{dependents}/orphan")
    front.request("DELETE", f"{dependents}/orphan")


def test_nothing_is_collected_for_a_server_that_does_not_answer(folder: Path, tmp_path: Path) -> None:
    with start_front(folder) as front:
        with start_far(folder, tmp_path) as far:
            port = port_of(far.url)
            join(front, folder, far)
            owners = {name: make(front, LAMPS, name) for name in ("stays", "goes")}
            make(front, MAPS, "of-stays", owners["stays"])
            make(front, MAPS, "of-goes", owners["goes"])
            make(front, LAMPS, "dependent", make(front, MAPS, "owner"))
            collected_so_far(front)
        make(front, MAPS, "unnoticed", {**owners["goes"], "uid": "another"})
        collected_so_far(front)
        look_again(front, "Stale")
        make(front, MAPS, "noticed", {**owners["goes"], "uid": "another"})
        make(front, MAPS, "second", owners["stays"])
        front.request("DELETE", f"{MAPS}/owner")
        collected_so_far(front)
        assert all(exists(front, f"{MAPS}/{name}") for name in ("of-stays", "of-goes", "unnoticed", "noticed"))
        with start_far(folder, tmp_path) as far:  # where nobody looks for it
            far.request("DELETE", f"{LAMPS}/goes")
        with start_far(folder, tmp_path, port) as far:
            look_again(front, "Current")
            eventually(lambda: not any(exists(front, f"{MAPS}/{name}") for name in ("of-goes", "unnoticed", "noticed")))
            eventually(lambda: not exists(far, f"{LAMPS}/dependent"))
            assert exists(front, f"{MAPS}/of-stays") and exists(front, f"{MAPS}/second")


def test_an_owner_waits_for_what_a_server_has_that_cannot_be_asked(folder: Path, tmp_path: Path) -> None:
    with start_front(folder) as front:
        with start_far(folder, tmp_path) as far:
            port = port_of(far.url)
            join(front, folder, far)
            make(front, LAMPS, "awaited", make(front, MAPS, "waiting"))
            collected_so_far(front)
        look_again(front, "Stale")
        front.request("DELETE", f"{MAPS}/waiting", {"propagationPolicy": "Foreground"})
        collected_so_far(front)
        assert metadata(front, f"{MAPS}/waiting")["finalizers"] == ["foregroundDeletion"]
        with start_far(folder, tmp_path, port) as far:
            look_again(front, "Current")
            eventually(lambda: not exists(front, f"{MAPS}/waiting"))
            assert not exists(far, f"{LAMPS}/awaited")


def test_orphans_wait_for_a_while_until_it_is_known_what_another_server_has(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(garbage_collector, "_PATIENCE_SECONDS", 1.0)
    with start_far(folder, tmp_path) as far:
        port = port_of(far.url)
    with start_front(folder) as front:
        front.request("POST", APISERVICES, api_service(folder, port))
        eventually(lambda: condition(front)[0] == "False")
        make(front, MAPS, "orphan", make(front, MAPS, "orphaning"))
        front.request("DELETE", f"{MAPS}/orphaning", {"propagationPolicy": "Orphan"})
        collected_so_far(front)
        assert metadata(front, f"{MAPS}/orphaning")["finalizers"] == ["orphan"]
        eventually(lambda: not exists(front, f"{MAPS}/orphaning"))
        assert "ownerReferences" not in metadata(front, f"{MAPS}/orphan")


def test_what_is_behind_an_api_service_is_followed_as_long_as_that_is_there(folder: Path, tmp_path: Path) -> None:
    with start_front(folder) as front, start_far(folder, tmp_path) as far:
        owner = make(far, LAMPS, "owner")
        make(front, MAPS, "dependent", owner)
        collected_so_far(front)
        join(front, folder, far)
        front.request("DELETE", f"{APISERVICES}/{NAME}")
        eventually(lambda: watches(far) == 0)
        far.request("DELETE", f"{LAMPS}/owner")
        collected_so_far(front)
        assert exists(front, f"{MAPS}/dependent")
        join(front, folder, far)
        eventually(lambda: not exists(front, f"{MAPS}/dependent"))


def test_owners_of_a_version_that_is_served_no_longer_are_not_gone(folder: Path, tmp_path: Path) -> None:
    with start_front(folder) as front, start_far(folder, tmp_path) as far:
        join(front, folder, far)
        first = make(front, LAMPS, "first", finalizers=[HOLD])
        make(front, LAMPS, "second", first)
        make(front, MAPS, "dependent", first)
        collected_so_far(front)
        front.request("DELETE", f"{APISERVICES}/{NAME}")
        make(front, MAPS, "later", first)
        eventually(lambda: watches(far) == 0)
        collected_so_far(front)
        assert exists(front, f"{MAPS}/dependent") and exists(front, f"{MAPS}/later")
        assert exists(far, f"{LAMPS}/second")


def test_a_server_is_followed_that_has_taken_the_place_of_another_one(folder: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    with start_front(folder) as front:
        with start_far(folder, first) as far:
            port = port_of(far.url)
            join(front, folder, far)
            for number in range(20):  # its versions are those of later times in the other one
                make(front, LAMPS, f"old-{number}")
        look_again(front, "Stale")
        with start_far(folder, second, port) as far:
            look_again(front, "Current")
            eventually(lambda: watches(far) == 1)
            make(front, LAMPS, "dependent", make(front, MAPS, "owner"))
            collected_so_far(front)
            front.request("DELETE", f"{MAPS}/owner")
            eventually(lambda: not exists(far, f"{LAMPS}/dependent"))


def test_what_asks_other_servers_is_loaded_when_there_are_any() -> None:
    found = "[name for name in sys.modules if name.startswith('watchkeeper.controllers.remote_')]"
    code = f"import sys, watchkeeper.server.server; print(*{found})"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert loaded.split() == ["watchkeeper.controllers.remote_resources"]

"""What controllers learn from discovery of other API servers."""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.controllers.remote_resources import RemoteResources
from watchkeeper.endpoints.discovery import Discovery, DiscoveryVersion
from watchkeeper.endpoints.response import Response
from watchkeeper.endpoints.scope import ServedResource, ServedTable
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind, GroupVersionResource

ALL = ("delete", "list", "watch")


class Cluster:
    """What is passed on of the group far.io, and what discovery has of it."""

    def __init__(self) -> None:
        self.served = ServedTable()
        self.discovery = Discovery()
        self.remote = RemoteResources(self.served, self.discovery)
        self._told: dict[str, DiscoveryVersion] = {}

    def tell(self, version: str, *resources: tuple[str, tuple[str, ...]], freshness: str = "Current") -> None:
        """Let a server tell of names of resources with verbs; the version told of last has the lowest priority."""
        told = [
            {"resource": name, "responseKind": {"kind": name.title()}, "scope": "Namespaced", "verbs": verbs}
            for name, verbs in resources
        ]
        entry = orjson.dumps({"version": version, "resources": told, "freshness": freshness})
        self._set(version, entry)

    def _set(self, version: str, entry: bytes) -> None:
        before = self._told.get(version)
        priority = before.priorities[1] if before is not None else 100 - len(self._told)
        self._told[version] = DiscoveryVersion(
            version, (), elsewhere=True, remote=True, entry=entry, priorities=(100, priority)
        )
        self.discovery.set_elsewhere("far.io", tuple(self._told.values()))
        self.served.remote[GroupVersion("far.io", version)] = lambda _request: Response(503)

    def stale(self, version: str) -> None:
        self.tell(version, freshness="Stale")

    def unknown(self, version: str) -> None:
        self._set(version, b"")

    def found(self, *verbs: str) -> list[str]:
        return [f"{r.info.gvr.resource}.{r.info.gvr.version}" for r in self.remote.preferred(*verbs)]


def test_what_a_server_tells_is_read() -> None:
    cluster = Cluster()
    cluster.tell("v1", ("lamps", ALL))
    [resource] = cluster.remote.preferred()
    gvr, kind = GroupVersionResource("far.io", "v1", "lamps"), GroupVersionKind("far.io", "v1", "Lamps")
    assert resource.info == ResourceInfo(gvr, kind, "", True, ALL)
    assert (resource.has("list", "watch"), resource.has("list", "create")) == (True, False)


def test_each_resource_is_there_once_at_the_preferred_version_that_has_it() -> None:
    cluster = Cluster()
    cluster.tell("v2", ("lamps", ALL))
    cluster.tell("v1", ("lamps", ALL), ("bulbs", ALL))
    assert cluster.found(*ALL) == ["lamps.v2", "bulbs.v1"]


def test_verbs_are_asked_of_the_preferred_version_alone() -> None:
    cluster = Cluster()
    cluster.tell("v2", ("lamps", ("get",)))
    cluster.tell("v1", ("lamps", ALL))
    assert cluster.found(*ALL) == []


def test_a_version_that_cannot_be_asked_is_not_discovered_and_another_one_takes_its_place() -> None:
    cluster = Cluster()
    cluster.tell("v2", ("lamps", ALL))
    cluster.tell("v1", ("lamps", ALL))
    cluster.stale("v2")
    assert cluster.remote.undiscovered() == [GroupVersion("far.io", "v2")]
    assert cluster.found(*ALL) == ["lamps.v1"]


def test_what_a_version_had_is_remembered_until_it_is_not_passed_on_any_more() -> None:
    cluster = Cluster()
    at = GroupVersion("far.io", "v1")
    cluster.tell("v1", ("lamps", ALL))
    assert cluster.found() == ["lamps.v1"]
    cluster.stale("v1")
    stale = cluster.remote.version(at)
    assert stale is not None
    assert (stale.discovered, [r.info.gvr.resource for r in stale.resources]) == (False, ["lamps"])
    del cluster.served.remote[at]
    assert cluster.remote.version(at) is None
    assert cluster.remote.versions() == []
    cluster.unknown("v1")
    again = cluster.remote.version(at)
    assert again is not None
    assert (again.discovered, again.resources) == (False, ())


def test_what_nobody_has_told_of_yet_is_not_discovered() -> None:
    cluster = Cluster()
    cluster.served.remote[GroupVersion("near.io", "v1")] = lambda _request: Response(503)
    assert cluster.remote.undiscovered() == [GroupVersion("near.io", "v1")]


def serve(cluster: Cluster, version: str) -> None:
    """Serve lamps here."""
    gvr, kind = GroupVersionResource("far.io", version, "lamps"), GroupVersionKind("far.io", version, "Lamp")

    def make() -> Any:
        raise AssertionError("nobody has to look into it")

    cluster.served.add(ServedResource(ResourceInfo(gvr, kind, "lamp", True, ALL), make=make))


def test_what_is_served_here_at_another_version_is_taken_from_here() -> None:
    cluster = Cluster()
    cluster.tell("v2", ("lamps", ALL), ("bulbs", ALL))
    serve(cluster, "v1")
    assert cluster.found(*ALL) == ["bulbs.v2"]


def test_what_is_served_here_at_a_version_that_is_passed_on_is_not_there() -> None:
    cluster = Cluster()
    cluster.tell("v1", ("lamps", ALL))
    serve(cluster, "v1")
    assert cluster.found(*ALL) == ["lamps.v1"]

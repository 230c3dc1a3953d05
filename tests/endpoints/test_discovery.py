from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import orjson

from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.apis.catalog import ResourceInfo, SubresourceInfo
from watchkeeper.apis.schema_data import resources
from watchkeeper.endpoints.discovery import (
    Discovery,
    DiscoveryGroup,
    DiscoveryVersion,
    groups_of,
    storage_version_hash,
)
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.runtime.yaml import load_yaml

SCHEME = builtin_scheme()
ALL_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


def builtin() -> Discovery:
    return Discovery(groups_of(resources(), lambda gvk: SCHEME.kind(gvk).hub))


def robots(*versions: str, group: str = "example.io", plural: str = "robots") -> DiscoveryGroup:
    def served(version: str) -> DiscoveryVersion:
        kind = GroupVersionKind(group, version, "Robot")
        scale = SubresourceInfo("scale", GroupVersionKind("autoscaling", "v1", "Scale"), ("get",))
        info = ResourceInfo(
            gvr=GroupVersionResource(group, version, plural),
            kind=kind,
            singular="robot",
            namespaced=True,
            verbs=ALL_VERBS,
            short_names=("rb",),
            subresources=(scale,),
        )
        return DiscoveryVersion(version, (info,), {plural: kind}, custom=True)

    return DiscoveryGroup(group, tuple(served(v) for v in versions))


def entries(document: bytes | None) -> dict[str, Any]:
    assert document is not None
    return {r["name"]: r for r in orjson.loads(document)["resources"]}


def test_the_core_group_has_a_document_of_its_own_form() -> None:
    assert orjson.loads(builtin().core_versions("127.0.0.1:6443")) == {
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}],
    }
    core = orjson.loads(builtin().resource_list("", "v1") or b"")
    assert (core["kind"], core["groupVersion"], "apiVersion" in core) == ("APIResourceList", "v1", False)


def test_named_groups_are_listed_with_the_preferred_version_first() -> None:
    listed = orjson.loads(builtin().group_list())
    assert (listed["kind"], listed["apiVersion"]) == ("APIGroupList", "v1")
    groups = {g["name"]: g for g in listed["groups"]}
    assert "" not in groups
    assert groups["autoscaling"] == {
        "name": "autoscaling",
        "versions": [
            {"groupVersion": "autoscaling/v2", "version": "v2"},
            {"groupVersion": "autoscaling/v1", "version": "v1"},
        ],
        "preferredVersion": {"groupVersion": "autoscaling/v2", "version": "v2"},
    }
    assert orjson.loads(builtin().group_document("apps") or b"")["kind"] == "APIGroup"


def test_subresources_follow_their_resource_and_name_a_kind_of_another_group() -> None:
    apps = entries(builtin().resource_list("apps", "v1"))
    assert list(apps)[:3] == ["controllerrevisions", "daemonsets", "daemonsets/status"]
    assert apps["deployments/scale"] == {
        "name": "deployments/scale",
        "singularName": "",
        "namespaced": True,
        "group": "autoscaling",
        "version": "v1",
        "kind": "Scale",
        "verbs": ["get", "patch", "update"],
    }
    assert apps["deployments"]["shortNames"] == ["deploy"]


def test_stored_resources_have_the_hash_of_what_is_stored() -> None:
    assert storage_version_hash(GroupVersionKind("", "v1", "ConfigMap")) == "qFsyl6wFWjQ="
    core = entries(builtin().resource_list("", "v1"))
    assert core["events"]["storageVersionHash"] == "r2yiGXH7wu8="
    assert "storageVersionHash" not in core["bindings"]
    assert "storageVersionHash" not in core["componentstatuses"]
    events = entries(builtin().resource_list("events.k8s.io", "v1"))
    assert events["events"]["storageVersionHash"] == "r2yiGXH7wu8="


def test_what_is_not_served_has_no_document() -> None:
    discovery = builtin()
    assert discovery.group_document("nosuch.io") is None
    assert discovery.group_document("") is None
    assert discovery.resource_list("apps", "v9") is None


def test_the_aggregated_form_holds_everything_at_once() -> None:
    discovery = builtin()
    core = orjson.loads(discovery.aggregated_core().body)
    assert [item["metadata"] for item in core["items"]] == [{}]
    named = orjson.loads(discovery.aggregated_groups().body)
    apps = next(i for i in named["items"] if i["metadata"]["name"] == "apps")
    deployments = next(r for r in apps["versions"][0]["resources"] if r["resource"] == "deployments")
    assert deployments == {
        "resource": "deployments",
        "responseKind": {"group": "", "version": "", "kind": "Deployment"},
        "scope": "Namespaced",
        "singularResource": "deployment",
        "verbs": list(ALL_VERBS),
        "shortNames": ["deploy"],
        "categories": ["all"],
        "subresources": [
            {
                "subresource": "scale",
                "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                "verbs": ["get", "patch", "update"],
            },
            {
                "subresource": "status",
                "responseKind": {"group": "", "version": "", "kind": "Deployment"},
                "verbs": ["get", "patch", "update"],
            },
        ],
    }


def test_the_aggregated_form_in_yaml_says_the_same_and_is_written_once() -> None:
    document = builtin().aggregated_groups()
    assert load_yaml(document.yaml()) == orjson.loads(document.body)
    assert document.yaml() is document.yaml()


def test_custom_groups_come_change_and_go() -> None:
    discovery = builtin()
    before = discovery.aggregated_groups()
    assert discovery.aggregated_groups() is before, "documents are encoded once"
    discovery.set_group(robots("v1", "v1beta1"))
    after = discovery.aggregated_groups()
    assert after.etag != before.etag
    item = orjson.loads(after.body)["items"][-1]
    assert item["metadata"]["name"] == "example.io"
    assert item["versions"][0]["resources"][0]["responseKind"] == {
        "group": "example.io",
        "version": "v1",
        "kind": "Robot",
    }
    assert [v["version"] for v in orjson.loads(discovery.group_document("example.io") or b"")["versions"]] == [
        "v1",
        "v1beta1",
    ]
    discovery.set_group(robots("v1"))
    assert discovery.resource_list("example.io", "v1beta1") is None
    assert entries(discovery.resource_list("example.io", "v1"))["robots"]["kind"] == "Robot"
    discovery.remove_group("example.io")
    assert discovery.group_document("example.io") is None
    assert discovery.aggregated_groups().etag == before.etag


def names(document: bytes, name_of: Any) -> list[str]:
    loaded = orjson.loads(document)
    return [name_of(item) for item in loaded.get("items") or loaded["groups"]]


def test_groups_of_custom_resources_follow_the_others_sorted_as_kube_apiserver_sorts_them() -> None:
    discovery = builtin()
    first = names(discovery.group_list(), lambda g: g["name"])
    for group, version in (("b.example.io", "v1"), ("a.example.io", "v2"), ("c.example.io", "v1beta1")):
        discovery.set_group(robots(version, group=group))
    aggregated = names(discovery.aggregated_groups().body, lambda g: g["metadata"]["name"])
    assert aggregated == [*first, "a.example.io", "b.example.io", "c.example.io"]
    # v1.b < v1beta1.c < v2.a
    assert names(discovery.group_list(), lambda g: g["name"]) == [
        *first,
        "b.example.io",
        "c.example.io",
        "a.example.io",
    ]


def test_the_order_in_which_groups_came_makes_no_difference_to_documents_and_their_hash() -> None:
    groups = [robots("v1", "v1alpha1", group=f"g{i}.example.io") for i in range(6)]
    one, other = builtin(), builtin()
    for group in groups:
        one.set_group(group)
    other.set_group(robots("v3", group="gone.example.io"))
    for group in reversed(groups):
        other.set_group(robots("v2", group=group.name))
        other.set_group(group)
    other.remove_group("gone.example.io")
    assert one.aggregated_groups() == other.aggregated_groups()
    assert one.group_list() == other.group_list()
    digest = hashlib.sha512(one.aggregated_groups().body).hexdigest().upper()
    assert one.aggregated_groups().etag == f'"{digest}"'


def test_custom_versions_of_a_built_in_group_come_before_those_of_a_lesser_priority() -> None:
    discovery = builtin()
    own = discovery.served("apps")
    (custom,) = robots("v1alpha1", group="apps").versions
    discovery.set_group(DiscoveryGroup("apps", (*own, replace(custom, priorities=(1000, 100)))))
    found = orjson.loads(discovery.group_document("apps") or b"")
    assert [v["version"] for v in found["versions"]] == ["v1alpha1", "v1"]
    assert names(discovery.group_list(), lambda g: g["name"]).index("apps") == 1


def test_setting_a_group_that_says_the_same_keeps_the_documents() -> None:
    discovery = builtin()
    discovery.set_group(robots("v1"))
    before, listed = discovery.aggregated_groups(), discovery.group_list()
    discovery.set_group(robots("v1"))
    assert discovery.aggregated_groups() is before
    assert discovery.group_list() is listed


def test_a_change_of_one_resource_shows_beside_those_that_stay() -> None:
    discovery = builtin()
    (a,), (b,) = (robots("v1", plural=plural).versions for plural in ("androids", "robots"))
    both = DiscoveryVersion("v1", (*a.resources, *b.resources), {**a.stored, **b.stored}, custom=True)
    discovery.set_group(DiscoveryGroup("example.io", (both,)))
    ending = replace(b.resources[0], verbs=("delete", "get"))
    stored = {**both.stored, "androids": GroupVersionKind("example.io", "v2", "Robot")}
    changed = replace(both, resources=(*a.resources, ending), stored=stored)
    before = entries(discovery.resource_list("example.io", "v1"))
    discovery.set_group(DiscoveryGroup("example.io", (changed,)))
    after = entries(discovery.resource_list("example.io", "v1"))
    assert after["robots"]["verbs"] == ["delete", "get"]
    assert after["androids"].pop("storageVersionHash") != before["androids"].pop("storageVersionHash")
    assert after["androids"] == before["androids"]
    fresh = builtin()
    fresh.set_group(DiscoveryGroup("example.io", (changed,)))
    assert fresh.aggregated_groups() == discovery.aggregated_groups()
    assert fresh.resource_list("example.io", "v1") == discovery.resource_list("example.io", "v1")


def test_a_group_may_have_built_in_and_custom_versions_and_a_hundred_of_them() -> None:
    discovery = builtin()
    own = discovery.group("apps")
    assert own is not None
    versions = robots(*(f"v{i}beta1" for i in range(100, 0, -1)), group="apps").versions
    position = names(discovery.group_list(), lambda g: g["name"]).index("apps")
    discovery.set_group(DiscoveryGroup("apps", (*own.versions, *versions)))
    listed = names(discovery.aggregated_groups().body, lambda g: g["metadata"]["name"])
    assert listed[position] == "apps", "it stays where it was"
    found = orjson.loads(discovery.aggregated_groups().body)["items"][position]["versions"]
    assert [v["version"] for v in found] == ["v1", *(f"v{i}beta1" for i in range(100, 0, -1))]
    assert found[0]["resources"][1]["responseKind"] == {"group": "", "version": "", "kind": "DaemonSet"}
    assert found[1]["resources"][0]["responseKind"] == {"group": "apps", "version": "v100beta1", "kind": "Robot"}
    discovery.set_group(own)
    assert discovery.aggregated_groups() == builtin().aggregated_groups()

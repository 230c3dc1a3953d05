from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.managedfields import FieldManager, excluding, including, keep_times_of_unchanged
from watchkeeper.runtime.managedfields.capping import cap_updaters
from watchkeeper.runtime.managedfields.entries import Owned, manager_id
from watchkeeper.runtime.managedfields.renewal import renewed

Object = dict[str, Any]

SCHEME = builtin_scheme()
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
POD = GroupVersionKind("", "v1", "Pod")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
AUTOSCALER = "HorizontalPodAutoscaler"


class Clock:
    """Counts seconds."""

    def __init__(self) -> None:
        self.seconds = 0

    def __call__(self) -> str:
        self.seconds += 1
        return f"2026-01-01T00:00:{self.seconds:02d}Z"


class Kept:
    """An object as a server keeps it, written by field managers."""

    def __init__(self, gvk: GroupVersionKind, **options: Any) -> None:
        self.kind = SCHEME.kind(gvk)
        self.clock = Clock()
        self.manager = FieldManager(SCHEME, self.kind, now=self.clock, **options)
        self.live: Object | None = None

    def decoded(self, body: Object) -> Object:
        obj = self.kind.decode(copy.deepcopy(body), None)
        obj["kind"], obj["apiVersion"] = self.kind.gvk.kind, self.kind.gvk.api_version
        if self.kind.default is not None:
            self.kind.default(obj)
        return obj

    def create(self, body: Object, manager: str = "maker") -> Object:
        obj = self.manager.update(None, self.decoded(body), manager)
        obj["metadata"]["uid"] = "1"
        self.live = obj
        return obj

    def update(self, body: Object, manager: str) -> Object:
        before = copy.deepcopy(self.live)
        new = self.decoded(body)
        new["metadata"]["uid"] = "1"
        obj = self.manager.update(self.live, new, manager)
        assert self.live == before, "the live object has changed"
        self.live = obj
        return obj

    def change(self, manager: str, **data: str | None) -> Object:
        assert self.live is not None
        body = copy.deepcopy(self.live)
        body["data"] = {k: v for k, v in ((body.get("data") or {}) | data).items() if v is not None}
        return self.update(body, manager)


def entries(obj: Object) -> list[tuple[str, str, Any]]:
    return [(e["manager"], e["operation"], e["fieldsV1"]) for e in obj["metadata"].get("managedFields", [])]


def config_map(**data: str) -> Object:
    return {"metadata": {"name": "a"}, "data": data}


def test_a_creator_owns_all_that_it_sent_but_not_what_identifies_the_object() -> None:
    body = config_map(k="1")
    body["metadata"] |= {"namespace": "n", "labels": {"x": "1"}, "finalizers": ["example.com/f"], "generation": 5}
    created = Kept(CONFIG_MAP).create(body)
    fields = {
        "f:data": {".": {}, "f:k": {}},
        "f:metadata": {
            "f:finalizers": {".": {}, 'v:"example.com/f"': {}},
            "f:labels": {".": {}, "f:x": {}},
        },
    }
    assert created["metadata"]["managedFields"] == [
        {
            "manager": "maker",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:01Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
        }
    ]


def test_a_creator_owns_defaults_and_items_by_their_keys_and_no_structs() -> None:
    container = {
        "name": "main",
        "image": "img:1",
        "args": ["x"],
        "ports": [{"containerPort": 80}],
        "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}],
    }
    body = {"metadata": {"name": "p"}, "spec": {"containers": [container], "tolerations": [{"operator": "Exists"}]}}
    [(_, _, fields)] = entries(Kept(POD, filters={"v1": excluding("status")}).create(body))
    assert "f:status" not in fields
    spec = fields["f:spec"]
    assert "." not in spec
    assert spec["f:restartPolicy"] == {} == spec["f:tolerations"] == spec["f:securityContext"]
    assert list(spec["f:containers"]) == ['k:{"name":"main"}']
    main = spec["f:containers"]['k:{"name":"main"}']
    assert main["."] == {} == main["f:args"] == main["f:resources"] == main["f:imagePullPolicy"]
    assert main["f:ports"] == {
        ".": {},
        'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}, "f:protocol": {}},
    }
    named = {".": {}, "f:name": {}, "f:value": {}}
    assert main["f:env"] == {".": {}, 'k:{"name":"A"}': named, 'k:{"name":"B"}': named}
    assert list(main["f:env"]) == [".", 'k:{"name":"A"}', 'k:{"name":"B"}']


def test_an_updater_takes_what_it_changes_or_adds_and_ends_ownership_of_what_it_removes() -> None:
    kept = Kept(CONFIG_MAP)
    kept.create(config_map(same="1", changed="1", gone="1"))
    obj = kept.change("other", changed="2", gone=None, added="3")
    assert entries(obj) == [
        ("maker", "Update", {"f:data": {".": {}, "f:same": {}}}),
        ("other", "Update", {"f:data": {"f:added": {}, "f:changed": {}}}),
    ]


def test_the_same_manager_keeps_one_entry_whose_time_follows_its_changes() -> None:
    kept = Kept(CONFIG_MAP)
    kept.create(config_map(k="1"))
    obj = kept.change("maker", m="2")
    assert entries(obj) == [("maker", "Update", {"f:data": {".": {}, "f:k": {}, "f:m": {}}})]
    assert obj["metadata"]["managedFields"][0]["time"] == "2026-01-01T00:00:02Z"


def test_an_update_that_changes_nothing_leaves_the_record_as_it_is() -> None:
    kept = Kept(CONFIG_MAP)
    created = copy.deepcopy(kept.create(config_map(k="1")))
    assert kept.change("other") == created


def test_a_manager_whose_fields_are_all_gone_has_no_entry() -> None:
    kept = Kept(CONFIG_MAP)
    kept.create(config_map(k="1"))
    kept.change("one", m="1")
    assert [manager for manager, _, _ in entries(kept.change("two", m=None))] == ["maker"]
    assert "managedFields" not in kept.change("two", k=None)["metadata"]


def test_nobody_keeps_a_record_any_more_once_it_is_emptied() -> None:
    for empty in ([], [{}]):
        kept = Kept(CONFIG_MAP)
        first = copy.deepcopy(kept.create(config_map(k="1")))
        obj = kept.update({**config_map(k="2"), "metadata": {"name": "a", "managedFields": empty}}, "other")
        assert "managedFields" not in obj["metadata"]
        assert entries(kept.change("other", k="3")) == []
        again = {**config_map(k="4"), "metadata": {"name": "a", "managedFields": first["metadata"]["managedFields"]}}
        assert [manager for manager, _, _ in entries(kept.update(again, "third"))] == ["maker", "third"]


def test_a_record_that_cannot_be_understood_does_not_count() -> None:
    kept = Kept(CONFIG_MAP)
    before = copy.deepcopy(kept.create(config_map(k="1"))["metadata"]["managedFields"])
    for wrong in (
        {"operation": "Replace"},
        {"apiVersion": ""},
        {"fieldsType": "FieldsV2"},
        {"fieldsV1": {"nonsense": {}}},
    ):
        sent = [{**before[0], **wrong}]
        obj = kept.update({**config_map(k="1"), "metadata": {"name": "a", "managedFields": sent}}, "other")
        assert obj["metadata"]["managedFields"] == before


def test_nobody_owns_the_record() -> None:
    kept = Kept(CONFIG_MAP)
    [mine] = copy.deepcopy(kept.create(config_map(k="1"))["metadata"]["managedFields"])
    named = {"f:metadata": {"f:labels": {"f:x": {}}, "f:managedFields": {}}}
    alone = {"f:metadata": {"f:managedFields": {}}}
    sent = [mine, {**mine, "manager": "other", "fieldsV1": named}, {**mine, "manager": "third", "fieldsV1": alone}]
    obj = kept.update({**config_map(k="1"), "metadata": {"name": "a", "managedFields": sent}}, "maker")
    assert [(manager, fields) for manager, _, fields in entries(obj)] == [
        ("maker", mine["fieldsV1"]),
        ("other", {"f:metadata": {"f:labels": {"f:x": {}}}}),
    ]


def test_a_record_can_be_sent_and_is_made_canonical() -> None:
    kept = Kept(POD)
    kept.create({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main"}]}})
    fields = {"f:spec": {"f:containers": {'k:{"name": "main"}': {"f:image": {}}}, "f:tolerations": {"i:0": {}}}}
    entry = {"manager": "x", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
    body = {"metadata": {"name": "p", "managedFields": [entry]}, "spec": {"containers": [{"name": "main"}]}}
    expected = {"f:spec": {"f:containers": {'k:{"name":"main"}': {"f:image": {}}}, "f:tolerations": {}}}
    assert entries(kept.update(body, "maker")) == [("x", "Apply", expected)]


def test_a_subresource_cannot_send_a_record_and_writes_under_its_name() -> None:
    kept = Kept(DEPLOYMENT)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "m", "image": "i"}]}}
    body = {
        "metadata": {"name": "d"},
        "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template},
    }
    kept.create(body)
    kept.manager = FieldManager(
        SCHEME, kept.kind, subresource="status", filters={"apps/v1": excluding("spec")}, now=kept.clock
    )
    assert kept.live is not None
    new = copy.deepcopy(kept.live)
    new["metadata"]["managedFields"] = []
    new["spec"]["replicas"] = 7
    new["status"] = {"observedGeneration": 1}
    obj = kept.update(new, "maker")
    assert [(e["manager"], e.get("subresource"), e["fieldsV1"].keys()) for e in obj["metadata"]["managedFields"]] == [
        ("maker", None, {"f:spec"}),
        ("maker", "status", {"f:status"}),
    ]
    assert obj["metadata"]["managedFields"][1]["fieldsV1"] == {"f:status": {"f:observedGeneration": {}}}


def test_what_counts_can_be_limited_to_some_places() -> None:
    kept = Kept(POD)
    kept.create({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a"}, {"name": "b"}]}})
    kept.manager = FieldManager(
        SCHEME,
        kept.kind,
        subresource="resize",
        filters={"v1": including("spec.containers.*.resources", "spec.containers.*.resizePolicy")},
        now=kept.clock,
    )
    new = copy.deepcopy(kept.live)
    assert new is not None
    new["metadata"]["labels"] = {"x": "y"}
    new["spec"]["containers"][0] |= {"image": "i", "resources": {"requests": {"cpu": "1"}}}
    [_, (manager, _, fields)] = entries(kept.update(new, "scaler"))
    assert manager == "scaler"
    resources = {"f:resources": {"f:requests": {".": {}, "f:cpu": {}}}}
    assert fields == {"f:spec": {"f:containers": {'k:{"name":"a"}': resources}}}


def test_the_oldest_of_more_than_ten_updaters_are_merged() -> None:
    kept = Kept(CONFIG_MAP)
    obj = kept.create(config_map(k00="1"), "m00")
    for number in range(1, 12):
        obj = kept.change(f"m{number:02d}", **{f"k{number:02d}": "1"})
    found = entries(obj)
    assert [manager for manager, _, _ in found] == ["ancient-changes", *(f"m{n:02d}" for n in range(3, 12))]
    assert found[0][2]["f:data"].keys() == {".", "f:k00", "f:k01", "f:k02"}
    assert obj["metadata"]["managedFields"][0]["time"] == "2026-01-01T00:00:03Z"


def test_ancient_changes_are_forgotten_when_another_updater_sorts_right_before_them() -> None:
    def owned(name: str) -> Owned:
        return Owned({f"f:{name}": {}}, "v1", "2026-01-01T00:00:00Z")

    names = ["alpha", "ancient-changes", *(f"m{n}" for n in range(9))]
    managed = {manager_id(name, "Update", "v1", ""): owned(name) for name in names}
    cap_updaters(managed)
    assert [identity.manager for identity in managed] == ["alpha", *names[2:]]

    # One that is excess already goes where the first one goes then.
    managed = {manager_id(name, "Update", "v1", ""): owned(name) for name in names}
    cap_updaters(managed, limit=9)
    assert [identity.manager for identity in managed] == [*names[3:], "ancient-changes"]
    assert managed[manager_id("ancient-changes", "Update", "v1", "")].fields == {"f:alpha": {}, "f:m0": {}}


def test_duplicate_items_are_owned_as_one() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "A", "value": "3"}]
    kept = Kept(POD)
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "m", "env": env}]}}
    main = entries(kept.create(body))[0][2]["f:spec"]["f:containers"]['k:{"name":"m"}']
    named = {".": {}, "f:name": {}, "f:value": {}}
    assert main["f:env"] == {".": {}, 'k:{"name":"A"}': {}, 'k:{"name":"B"}': named}
    env[2]["value"] = "4"
    changed = entries(kept.update(body, "other"))[1][2]
    assert changed == {"f:spec": {"f:containers": {'k:{"name":"m"}': {"f:env": {'k:{"name":"A"}': {}}}}}}
    del env[2]
    left = {name: fields for name, _, fields in entries(kept.update(body, "third"))}
    path = ("f:spec", "f:containers", 'k:{"name":"m"}', "f:env", 'k:{"name":"A"}')
    node = left["third"]
    for element in path:
        node = node[element]
    assert node == named


def test_entries_of_other_versions_are_understood_at_their_version() -> None:
    old, new = (GroupVersionKind("autoscaling", v, AUTOSCALER) for v in ("v1", "v2"))
    kept = Kept(old)
    hub = SCHEME.kind(old).hub
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"},
        "maxReplicas": 5,
        "targetCPUUtilizationPercentage": 50,
    }
    obj = SCHEME.to_hub(kept.decoded({"metadata": {"name": "h"}, "spec": spec}))
    live = kept.manager.update(None, obj, "one")
    live["metadata"]["uid"] = "1"
    [(_, _, fields)] = entries(live)
    common = {"f:scaleTargetRef", "f:minReplicas", "f:maxReplicas"}
    assert fields["f:spec"].keys() == common | {"f:targetCPUUtilizationPercentage"}
    assert live["metadata"]["managedFields"][0]["apiVersion"] == "autoscaling/v1"
    other = FieldManager(SCHEME, SCHEME.kind(new), now=kept.clock)
    changed = copy.deepcopy(live)
    assert SCHEME.kind(new).gvk == hub
    changed["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] = 60
    result = {e["manager"]: e for e in other.update(live, changed, "two")["metadata"]["managedFields"]}
    assert result["one"]["fieldsV1"]["f:spec"].keys() == common
    assert result["two"]["apiVersion"] == "autoscaling/v2"
    assert result["two"]["fieldsV1"]["f:spec"].keys() == {"f:metrics"}


def test_entries_of_unknown_versions_are_dropped() -> None:
    kept = Kept(CONFIG_MAP)
    kept.create(config_map(k="1"))
    assert kept.live is not None
    [entry] = kept.live["metadata"]["managedFields"]
    kept.live["metadata"]["managedFields"] = [entry, {**entry, "manager": "old", "apiVersion": "example.com/v0"}]
    assert [manager for manager, _, _ in entries(kept.change("other", m="1"))] == ["maker", "other"]


def test_times_alone_are_no_change() -> None:
    kept = Kept(CONFIG_MAP)
    old = copy.deepcopy(kept.create(config_map(k="1")))
    new = copy.deepcopy(old)
    new["metadata"]["managedFields"][0]["time"] = "2027-01-01T00:00:00Z"
    keep_times_of_unchanged(new, old)
    assert new == old
    changed = copy.deepcopy(old)
    changed["data"]["k"] = "2"
    changed["metadata"]["managedFields"][0]["time"] = "2027-01-01T00:00:00Z"
    keep_times_of_unchanged(changed, old)
    assert changed["metadata"]["managedFields"][0]["time"] == "2027-01-01T00:00:00Z"


@pytest.mark.parametrize("name", ["", "x"])
def test_a_manager_without_a_name_is_unknown(name: str) -> None:
    [(manager, _, _)] = entries(Kept(CONFIG_MAP).create(config_map(k="1"), name))
    assert manager == (name or "unknown")


def test_raw_content_is_owned_as_a_whole() -> None:
    kept = Kept(GroupVersionKind("apps", "v1", "ControllerRevision"))
    content = {"a": {"b": 1}, "c": [{"d": 1}]}
    obj = kept.create({"metadata": {"name": "r"}, "data": content, "revision": 1})
    assert entries(obj) == [("maker", "Update", {"f:data": {}, "f:revision": {}})]


@pytest.mark.parametrize(("was", "becomes"), [(1, True), (False, 0), ([0], [False]), ({"x": [1]}, {"x": [True]})])
def test_truth_is_no_number(was: Any, becomes: Any) -> None:
    kept = Kept(GroupVersionKind("apps", "v1", "ControllerRevision"))
    body = {"metadata": {"name": "r"}, "data": {"a": was, "b": 1}, "revision": 1}
    kept.create(body)
    obj = kept.update({**body, "data": {"a": becomes, "b": 1}}, "other")
    assert ("other", "Update", {"f:data": {}}) in entries(obj)
    assert becomes is not True or obj["data"]["a"] is True


POLICY = GroupVersionKind("networking.k8s.io", "v1", "NetworkPolicy")


@pytest.mark.parametrize(
    ("ingress", "owned"),
    [
        ([{"from": []}], True),
        ([{"from": [{"podSelector": {"matchExpressions": [], "matchLabels": {"a": "b"}}}]}], True),
        ([{"from": [{"podSelector": {"matchLabels": {"a": "b"}}}]}], False),
        ([{}], False),
        ([], False),
    ],
)
def test_what_is_empty_in_items_of_a_list_owned_as_a_whole_counts(ingress: list[Any], owned: bool) -> None:
    kept = Kept(POLICY)
    body: Object = {"metadata": {"name": "a"}, "spec": {"podSelector": {"matchLabels": {}}, "ingress": ingress}}
    stored = kept.create(body)
    kept.live = json.loads(json.dumps(stored))
    found = {manager: fields for manager, _, fields in entries(kept.update(body, "other"))}
    assert found.get("other") == ({"f:spec": {"f:ingress": {}}} if owned else None)
    assert ("f:ingress" in found["maker"]["f:spec"]) is not (owned or not ingress)


def test_a_heartbeat_renews_the_time_of_its_own_entry_and_leaves_others_as_they_are() -> None:
    kept = Kept(CONFIG_MAP)
    kept.create({"metadata": {"name": "a"}, "data": {"x": "1", "y": "1"}}, "maker")
    kept.update({"metadata": {"name": "a"}, "data": {"x": "1", "y": "1", "beat": "1"}}, "heart")
    before = {entry["manager"]: entry for entry in kept.live["metadata"]["managedFields"]}  # type: ignore[index]
    kept.update({"metadata": {"name": "a"}, "data": {"x": "1", "y": "1", "beat": "2"}}, "heart")
    after = {entry["manager"]: entry for entry in kept.live["metadata"]["managedFields"]}  # type: ignore[index]
    assert after["maker"] == before["maker"]
    assert after["heart"] == {**before["heart"], "time": after["heart"]["time"]}
    assert after["heart"]["time"] > before["heart"]["time"]


OWN = {
    "manager": "heart",
    "operation": "Update",
    "apiVersion": "v1",
    "time": "2026-01-01T00:00:05Z",
    "fieldsType": "FieldsV1",
    "fieldsV1": {"f:data": {"f:beat": {}, "f:x": {}}},
}
HEART = manager_id("heart", "Update", "v1", "")
NOW = "2026-01-01T00:00:07Z"


def other(**fields: Any) -> Object:
    return {**OWN, "manager": "other", "fieldsV1": {"f:data": {"f:other": {}}}, **fields}


@pytest.mark.parametrize(
    ("entries", "changed"),
    [
        ([], {"f:data": {"f:beat": {}}}),
        ([other()], {"f:data": {"f:beat": {}}}),
        ([OWN], {"f:data": {"f:new": {}}}),
        ([OWN], {"f:data": {}}),
        ([OWN, other(fieldsV1={"f:data": {"f:beat": {}}})], {"f:data": {"f:beat": {}}}),
        ([OWN, other(apiVersion="v2")], {"f:data": {"f:beat": {}}}),
        ([OWN, other(operation="Other")], {"f:data": {"f:beat": {}}}),
        ([OWN, other(fieldsType=None)], {"f:data": {"f:beat": {}}}),
        ([OWN, other(fieldsV1=None)], {"f:data": {"f:beat": {}}}),
        ([OWN, OWN], {"f:data": {"f:beat": {}}}),
        ([{**OWN, "subresource": "status"}], {"f:data": {"f:beat": {}}}),
        ([{**OWN, "operation": "Apply"}], {"f:data": {"f:beat": {}}}),
        ([OWN, *(other(manager=f"other-{i}") for i in range(10))], {"f:data": {"f:beat": {}}}),
        ([OWN, None], {"f:data": {"f:beat": {}}}),
    ],
)
def test_a_record_is_not_just_renewed_where_somebodys_fields_may_change(entries: list[Any], changed: Object) -> None:
    assert renewed(entries, changed, HEART, lambda: NOW) is None


def test_renewed_entries_are_in_order_and_those_before_are_not_changed() -> None:
    entries = [copy.deepcopy(OWN), other(time="2026-01-01T00:00:06Z")]
    found = renewed(entries, {"f:data": {"f:beat": {}}}, HEART, lambda: NOW)
    assert found == [entries[1], {**OWN, "time": NOW}]
    assert entries[0] == OWN
    assert renewed(entries, {}, HEART, lambda: NOW) == entries

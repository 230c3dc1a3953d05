from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.apis.schema_data import kind_schema
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.patch import StrategicPatch

POD = kind_schema(GroupVersionKind("", "v1", "Pod"))
DEPLOYMENT = kind_schema(GroupVersionKind("apps", "v1", "Deployment"))

Object = dict[str, Any]


def apply(document: Object, patch: Any, schema: Any = POD) -> Object:
    return StrategicPatch(orjson.dumps(patch), schema).apply(orjson.loads(orjson.dumps(document)))


def spec(document: Object, patch: Object) -> Object:
    outcome: Object = apply({"spec": document}, {"spec": patch})["spec"]
    return outcome


def refused(document: Object, patch: Any, schema: Any = POD) -> ApiError:
    with pytest.raises(ApiError) as raised:
        apply(document, patch, schema)
    return raised.value


def names(items: list[Object]) -> list[str]:
    return [item["name"] for item in items]


MAIN, SIDE = {"name": "main", "image": "main:1"}, {"name": "side", "image": "side:1"}


def test_containers_are_merged_by_name() -> None:
    outcome = spec({"containers": [MAIN, SIDE]}, {"containers": [{"name": "side", "image": "side:2"}]})
    assert outcome["containers"] == [MAIN, {"name": "side", "image": "side:2"}]


def test_new_items_of_keyed_lists_go_first_but_after_those_that_they_follow_in_the_patch() -> None:
    new = {"name": "new", "image": "new:1"}
    assert names(spec({"containers": [MAIN, SIDE]}, {"containers": [new]})["containers"]) == ["new", "main", "side"]
    patch = {"containers": [{"name": "main"}, new]}
    assert names(spec({"containers": [MAIN, SIDE]}, patch)["containers"]) == ["main", "new", "side"]


def test_lists_in_items_are_merged_by_their_own_keys() -> None:
    document = {"containers": [{"name": "main", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}]}
    outcome = spec(document, {"containers": [{"name": "main", "env": [{"name": "B", "value": "3"}]}]})
    assert outcome["containers"][0]["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}]


def test_atomic_lists_are_replaced() -> None:
    document = {"containers": [{"name": "main", "args": ["a", "b"]}], "tolerations": [{"key": "x"}]}
    patch = {"containers": [{"name": "main", "args": ["c"]}], "tolerations": []}
    outcome = spec(document, patch)
    assert outcome == {"containers": [{"name": "main", "args": ["c"]}], "tolerations": []}


def test_null_removes_a_field_and_is_dropped_where_there_is_none() -> None:
    document = {"metadata": {"labels": {"a": "1", "b": "2"}}}
    patch = {"metadata": {"labels": {"a": None, "none": None}, "annotations": {"x": None, "y": "1"}}}
    assert apply(document, patch) == {"metadata": {"labels": {"b": "2"}, "annotations": {"y": "1"}}}


def test_sets_of_texts_are_united() -> None:
    document = {"metadata": {"finalizers": ["a/1", "b/1"]}}
    outcome = apply(document, {"metadata": {"finalizers": ["c/1", "b/1"]}})
    assert sorted(outcome["metadata"]["finalizers"]) == ["a/1", "b/1", "c/1"]


def test_texts_are_deleted_from_sets() -> None:
    document = {"metadata": {"finalizers": ["a/1", "b/1"]}}
    outcome = apply(document, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["b/1", "none"]}})
    assert outcome == {"metadata": {"finalizers": ["a/1"]}}


def test_a_map_is_replaced_or_emptied() -> None:
    document = {"nodeSelector": {"a": "1"}, "containers": [MAIN]}
    assert spec(document, {"nodeSelector": {"$patch": "replace", "b": "2"}})["nodeSelector"] == {"b": "2"}
    assert spec(document, {"nodeSelector": {"$patch": "delete"}})["nodeSelector"] == {}
    assert "securityContext" not in spec(document, {"securityContext": {"$patch": "delete"}})


def test_an_item_is_deleted_by_its_key() -> None:
    outcome = spec({"containers": [MAIN, SIDE]}, {"containers": [{"$patch": "delete", "name": "main"}]})
    assert outcome["containers"] == [SIDE]
    unknown = spec({"containers": [MAIN]}, {"containers": [{"$patch": "delete", "name": "none"}]})
    assert unknown["containers"] == [MAIN]


def test_a_list_is_replaced_by_the_items_beside_the_directive() -> None:
    outcome = spec({"containers": [MAIN, SIDE]}, {"containers": [{"name": "new"}, {"$patch": "replace"}]})
    assert outcome["containers"] == [{"name": "new"}]


def test_element_order_puts_items_in_order() -> None:
    third = {"name": "third"}
    document = {"containers": [MAIN, SIDE, third]}
    order = [{"name": "third"}, {"name": "main"}, {"name": "side"}]
    outcome = spec(document, {"$setElementOrder/containers": order})
    assert names(outcome["containers"]) == ["third", "main", "side"]
    patch = {"$setElementOrder/containers": order, "containers": [{"name": "main", "image": "main:2"}]}
    outcome = spec(document, patch)
    assert outcome["containers"] == [third, {"name": "main", "image": "main:2"}, SIDE]


def test_items_that_the_order_does_not_name_keep_their_place_among_the_others() -> None:
    document = {"containers": [{"name": n} for n in ("a", "b", "c", "d")]}
    outcome = spec(document, {"$setElementOrder/containers": [{"name": "c"}, {"name": "a"}]})
    assert names(outcome["containers"]) == ["b", "c", "a", "d"]


def test_an_order_that_does_not_fit_the_patch_is_refused() -> None:
    patch = {
        "$setElementOrder/containers": [{"name": "side"}],
        "containers": [{"name": "main", "image": "x"}],
    }
    error = refused({"spec": {"containers": [MAIN]}}, {"spec": patch})
    assert error.code == 500
    assert error.message == (
        "The order in patch list:\n[map[image:x name:main]]\n doesn't match $setElementOrder list:\n[map[name:side]]\n"
    )


def test_retained_keys_are_the_only_ones_left() -> None:
    document = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert apply(document, patch, DEPLOYMENT) == {"spec": {"strategy": {"type": "Recreate"}}}


def test_a_patch_sets_no_key_that_it_does_not_retain() -> None:
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate", "rollingUpdate": {}}}}
    error = refused({"spec": {"strategy": {"type": "RollingUpdate"}}}, patch, DEPLOYMENT)
    assert (error.code, error.message) == (400, "invalid patch format of retainKeys")


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({"nodeSelector": {"$patch": "swap"}}, 500, "unknown patch type: swap in map: map[$patch:swap]"),
        ({"containers": [{"$patch": "merge"}]}, 500, "merging lists cannot yet be specified in the patch"),
        ({"containers": [{"$patch": "x"}]}, 500, "unknown patch type: x in map: map[$patch:x]"),
        ({"containers": [{"image": "x"}]}, 500, "map: map[image:x] does not contain declared merge key: name"),
        (
            {"containers": [{"$patch": "delete"}]},
            500,
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            {"containers": ["x"]},
            500,
            "list element types are not identical: [[map[image:main:1 name:main]] [x]]",
        ),
        (
            {"containers": [None]},
            500,
            "list element types are not identical: [[map[image:main:1 name:main]] [<nil>]]",
        ),
        (
            {"containers": [["x"]]},
            500,
            "list element types are not identical: [[map[image:main:1 name:main]] [[x]]]",
        ),
        (
            {"$deleteFromPrimitiveList/containers": ["main"]},
            500,
            "list element types are not identical: [[map[image:main:1 name:main]] [main]]",
        ),
        (
            {"containers": [{"$patch": "replace"}, {"image": "x"}]},
            500,
            "map: map[image:x] does not contain declared merge key: name",
        ),
        ({"$setElementOrder/containers": "x"}, 500, "expected a []interface {}, but received a string"),
        ({"$setElementOrder/containers": ["x"], "containers": [{"name": "a"}]}, 500, "expected a map"),
        ({"nodeSelector": {"$retainKeys": "x"}}, 400, "invalid patch format of retainKeys"),
    ],
)
def test_what_the_algorithm_cannot_do_is_refused(patch: Object, code: int, message: str) -> None:
    error = refused({"spec": {"containers": [MAIN], "nodeSelector": {"a": "1"}}}, {"spec": patch})
    assert error.code == code
    assert error.message.startswith(message)


def test_lists_of_lists_are_not_merged() -> None:
    error = refused({"metadata": {"finalizers": []}}, {"metadata": {"finalizers": [["b"]]}})
    assert error.code == 422


def test_kind_and_version_stay() -> None:
    document = {"kind": "Pod", "apiVersion": "v1", "spec": {}}
    outcome = apply(document, {"kind": "Secret", "apiVersion": "v2", "metadata": {"labels": {"a": "1"}}})
    assert (outcome["kind"], outcome["apiVersion"]) == ("Pod", "v1")


def test_null_is_a_patch_that_changes_nothing() -> None:
    assert apply({"spec": {"containers": [MAIN]}}, None) == {"spec": {"containers": [MAIN]}}


@pytest.mark.parametrize("body", [b"[]", b"{", b"1"])
def test_a_body_that_is_no_object_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(ApiError) as raised:
        StrategicPatch(body, POD)
    assert raised.value.code == 400


def test_a_patch_can_be_applied_to_one_state_after_another() -> None:
    patch = StrategicPatch(orjson.dumps({"spec": {"containers": [{"name": "main", "image": "x"}]}}), POD)
    assert patch.apply({"spec": {"containers": [MAIN.copy()]}}) == patch.apply({"spec": {"containers": [MAIN.copy()]}})


CONTAINERS = st.lists(
    st.builds(
        lambda name, image, env: {"name": name, "image": image, "env": [{"name": n, "value": "v"} for n in env]},
        st.sampled_from("abcd"),
        st.sampled_from(("x", "y")),
        st.lists(st.sampled_from("MNO"), unique=True, max_size=3),
    ),
    unique_by=lambda c: c["name"],
    max_size=4,
)


@settings(max_examples=50, deadline=None)
@given(CONTAINERS, CONTAINERS)
def test_a_patch_applied_twice_is_applied_once(document: list[Object], patch: list[Object]) -> None:
    once = spec({"containers": document}, {"containers": patch})
    assert spec(once, {"containers": patch}) == once


@settings(max_examples=50, deadline=None)
@given(CONTAINERS, CONTAINERS)
def test_the_patch_counts_and_nothing_else_changes(document: list[Object], patch: list[Object]) -> None:
    found = {c["name"]: c for c in spec({"containers": document}, {"containers": patch})["containers"]}
    assert found.keys() == {c["name"] for c in (*document, *patch)}
    patched = {c["name"]: c for c in patch}
    for before in document:
        if before["name"] not in patched:
            assert found[before["name"]] == before
        else:
            assert found[before["name"]]["image"] == patched[before["name"]]["image"]


SERVICE = kind_schema(GroupVersionKind("", "v1", "Service"))
DNS: list[Object] = [{"port": 53, "protocol": "TCP"}, {"port": 80}, {"port": 53, "protocol": "UDP"}]


def ports(patch: Object) -> list[Object]:
    found: list[Object] = apply({"spec": {"ports": DNS}}, {"spec": patch}, SERVICE)["spec"]["ports"]
    return found


def test_the_first_of_items_with_one_key_is_patched() -> None:
    assert ports({"ports": [{"port": 53, "name": "dns"}]}) == [{**DNS[0], "name": "dns"}, DNS[2], {"port": 80}]


def test_all_items_with_a_key_are_deleted() -> None:
    assert ports({"ports": [{"$patch": "delete", "port": 53}]}) == [{"port": 80}]


def test_a_list_that_replaces_another_has_items_with_one_key_side_by_side() -> None:
    assert ports({"ports": [{"$patch": "replace"}, *DNS]}) == [DNS[0], DNS[2], {"port": 80}]


def test_a_key_is_no_number_of_another_type() -> None:
    patch = b'{"spec":{"ports":[{"port":80.0,"name":"web"}]}}'
    outcome = StrategicPatch(patch, SERVICE).apply({"spec": {"ports": [{"port": 80}]}})
    assert outcome["spec"]["ports"] == [{"port": 80.0, "name": "web"}, {"port": 80}]


def test_new_items_that_an_empty_order_does_not_name_go_last_and_backwards() -> None:
    new = [{"name": "one"}, {"name": "two"}]
    patch = {"containers": new, "$setElementOrder/containers": []}
    assert names(spec({"containers": [MAIN, SIDE]}, patch)["containers"]) == ["main", "side", "two", "one"]


def test_what_is_no_list_is_merged_by_a_directive_about_lists() -> None:
    document = {"nodeName": "a", "nodeSelector": {"x": "1"}}
    patch = {"$deleteFromPrimitiveList/nodeName": "b", "$deleteFromPrimitiveList/nodeSelector": {"x": None}}
    assert spec(document, patch) == {"nodeName": "b", "nodeSelector": {}}
    assert spec(document, {"$deleteFromPrimitiveList/hostname": "b"}) == document


def test_an_order_holds_maps_that_have_keys() -> None:
    document = {"spec": {"containers": [MAIN]}}
    for order, message in (
        (["x"], "value for key 0 is not a map"),
        ([{"name": "main"}, "x"], "expected a map[string]interface {}, but received a string"),
        ([{"name": "main"}, {}], "map: map[] does not contain declared merge key: name"),
    ):
        assert refused(document, {"spec": {"$setElementOrder/containers": order}}).message == message


def test_a_directive_that_is_null_is_none_in_a_new_value() -> None:
    body = b'{"spec":{"strategy":{"$patch":null,"type":"Recreate"},"selector":{"$patch":"delete","a":"b"}}}'
    assert StrategicPatch(body, DEPLOYMENT).apply({"spec": {"replicas": 1}}) == {
        "spec": {"replicas": 1, "strategy": {"type": "Recreate"}}
    }
    body = b'{"spec":{"template":{"spec":{"containers":[{"$patch":null,"name":"a"},{"$patch":"merge","name":"b"}]}}}}'
    assert StrategicPatch(body, DEPLOYMENT).apply({"spec": {}}) == {
        "spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}
    }
    with pytest.raises(ApiError, match="unknown patch type"):
        StrategicPatch(body, DEPLOYMENT).apply({"spec": {"template": {"spec": {"containers": [{"name": "a"}]}}}})

"""What a strategic merge patch makes of an object and its kind cannot hold."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from watchkeeper.apis.schema_data import schema_data
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.patch.strategic import StrategicPatch
from watchkeeper.runtime.patch.unstructured import mismatch, unknown_fields
from watchkeeper.runtime.scheme import DecodeError

DEPLOYMENT = schema_data().kinds[GroupVersionKind("apps", "v1", "Deployment")]
DEFINITION = schema_data().kinds[GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")]
SECRET = schema_data().kinds[GroupVersionKind("", "v1", "Secret")]


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ({"spec": {"replicas": "x"}}, "unrecognized type: int32"),
        ({"spec": {"replicas": True}}, "unrecognized type: int32"),
        ({"spec": {"replicas": 1.5}}, "cannot convert float64 to int32"),
        ({"spec": {"paused": "yes"}}, "unrecognized type: bool"),
        ({"metadata": {"labels": {"a": 1}}}, "cannot convert int64 to string"),
        ({"metadata": {"labels": {"a": True}}}, "unrecognized type: string"),
        ({"metadata": {"labels": []}}, "cannot restore map from slice"),
        ({"spec": {"template": "x"}}, "cannot restore struct from: string"),
        ({"spec": {"template": {"spec": {"containers": {}}}}}, "cannot restore slice from map"),
        ({"spec": {"template": {"spec": {"containers": [7]}}}}, "cannot restore struct from: int64"),
        ({"spec": {"replicas": 2.0, "paused": None, "template": {}}}, None),
    ],
)
def test_the_first_value_of_a_wrong_type_is_named(outcome: dict[str, Any], words: str | None) -> None:
    assert mismatch(DEPLOYMENT, outcome) == words


def test_types_that_decode_themselves_say_what_is_wrong() -> None:
    assert mismatch(DEPLOYMENT, {"metadata": {"creationTimestamp": 5}}) == (
        "json: cannot unmarshal number into Go value of type string"
    )
    for surge, words in (
        ("x", None),
        (2.0, None),
        (1.5, "json: cannot unmarshal number 1.5 into Go value of type int32"),
        (3e9, "json: cannot unmarshal number 3000000000 into Go value of type int32"),
        (1.8446744073709552e19, "json: cannot unmarshal number 18446744073709552000 into Go value of type int32"),
        (True, "json: cannot unmarshal bool into Go value of type int32"),
        ([1], "json: cannot unmarshal array into Go value of type int32"),
    ):
        assert mismatch(DEPLOYMENT, {"spec": {"strategy": {"rollingUpdate": {"maxSurge": surge}}}}) == words
    assert mismatch(SECRET, {"data": {"a": "YQ=="}}) is None
    assert mismatch(SECRET, {"data": {"a": 1}}) == "cannot restore slice from int64"
    text = mismatch(SECRET, {"data": {"a": "?"}})
    assert text is not None
    assert text.startswith("error decoding from json: illegal base64 data")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"additionalProperties": "x"}, "boolean or JSON schema expected"),
        ({"properties": {"a": {"additionalItems": 2}}}, "boolean or JSON schema expected"),
        (
            {"additionalProperties": {"title": 3}},
            "json: cannot unmarshal number into Go struct field JSONSchemaProps.title of type string",
        ),
        (
            {"items": [{"title": 3}]},
            "json: cannot unmarshal number into Go struct field JSONSchemaProps.title of type string",
        ),
        (
            {"items": {"additionalProperties": {"title": 3}}},
            "json: cannot unmarshal number into Go struct field JSONSchemaProps.additionalProperties of type string",
        ),
        ({"items": [7]}, "json: cannot unmarshal number into Go value of type v1.JSONSchemaProps"),
        ({"items": [{"title": 3}, {"not": {"additionalItems": 2}}]}, "boolean or JSON schema expected"),
        ({"dependencies": {"a": [1]}}, "json: cannot unmarshal number into Go value of type string"),
        ({"items": 1, "additionalProperties": False, "dependencies": {"a": ["b"]}, "default": {"title": 3}}, None),
    ],
)
def test_schemas_in_schemas_are_told_of_by_decoders_of_their_own(schema: dict[str, Any], words: str | None) -> None:
    assert mismatch(DEFINITION, {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}) == words


def test_the_patch_shows_as_the_reference_prints_it() -> None:
    patch = StrategicPatch(b'{"spec":{"replicas":"x","paused":true,"a":3e9,"b":1.0},"metadata":null}', DEPLOYMENT)
    document: dict[str, Any] = {"metadata": {"name": "a"}, "spec": {}}
    assert patch.shown(document) == "map[metadata:<nil> spec:map[a:3e+09 b:1 paused:true replicas:x]]"
    with pytest.raises(DecodeError, match=r"^unrecognized type: int32$"):
        patch.restored({"spec": {"replicas": "x"}})


@pytest.mark.parametrize(
    ("patch", "shown"),
    [
        ('{"strategy":{"$retainKeys":["type"],"type":5}}', "map[strategy:map[type:5]]"),
        ('{"$setElementOrder/none":[{"name":"b"},{"name":"a"}]}', None),
        (
            '{"replicas":"x","selector":{"a":null,"b":{"c":null},"d":{"$patch":"delete"}}}',
            "map[replicas:x selector:map[b:map[]]]",
        ),
        ('{"strategy":{"$patch":"replace","type":5}}', "map[strategy:map[type:5]]"),
        ('{"strategy":{"type":null}}', "map[strategy:map[type:<nil>]]"),
        (
            '{"template":{"spec":{"$setElementOrder/containers":[{"name":"a"}],"containers":[{"name":"a","image":5}]}}}',
            "map[template:map[spec:map[]]]",
        ),
        (
            '{"template":{"spec":{"containers":[{"name":"a","env":[{"name":"x","value":null}]},{"name":"b","$patch":"delete"}]}}}',
            "map[template:map[spec:map[containers:[map[env:[map[name:x]] name:a] map[$patch:delete name:b]]]]]",
        ),
    ],
)
def test_merging_takes_directives_and_nulls_out_of_what_is_shown(patch: str, shown: str | None) -> None:
    containers = [{"name": "a", "image": "a:1"}, {"name": "b", "image": "b:1"}]
    document = {"spec": {"strategy": {"type": "Recreate"}, "template": {"spec": {"containers": containers}}}}
    parsed = StrategicPatch(f'{{"spec":{patch}}}'.encode(), DEPLOYMENT)
    if shown is None:
        with pytest.raises(ApiError, match="unable to find api field"):
            parsed.shown(document)
    else:
        assert parsed.shown(document) == f"map[spec:{shown}]"


def test_lists_and_maps_in_maps_are_not_merged() -> None:
    request = schema_data().kinds[GroupVersionKind("certificates.k8s.io", "v1", "CertificateSigningRequest")]

    def apply(extra: dict[str, Any]) -> Any:
        patch = StrategicPatch(orjson.dumps({"spec": {"extra": extra}}), request)
        return patch.apply({"spec": {"extra": {"a": ["x"]}}})["spec"]["extra"]

    assert apply({"b": ["y"], "a": None}) == {"b": ["y"]}
    for extra in ({"a": ["y"]}, {"$setElementOrder/a": ["y"]}):
        with pytest.raises(ApiError, match=r"^merging an object in json but data type is not struct, instead is: map$"):
            apply(extra)


def test_only_deletions_may_stand_behind_the_last_that_an_order_names() -> None:
    document = {"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "a:1"}]}}}}

    def outcome(*changes: dict[str, Any]) -> Any:
        pod = {"$setElementOrder/containers": [{"name": "a"}], "containers": [*changes]}
        patch = StrategicPatch(orjson.dumps({"spec": {"template": {"spec": pod}}}), DEPLOYMENT)
        return patch.apply(orjson.loads(orjson.dumps(document)))["spec"]["template"]["spec"]["containers"]

    new = {"name": "a", "image": "a:2"}
    assert outcome(new, {"name": "b", "$patch": "delete"}) == [new]
    assert outcome({"$patch": "replace"}, new) == [new]
    with pytest.raises(ApiError, match="doesn't match \\$setElementOrder list"):
        outcome(new, {"$patch": "replace"})


@pytest.mark.parametrize(
    ("metadata", "code", "message"),
    [
        ({"$deleteFromPrimitiveList": ["a"]}, 400, "invalid patch format of primitive list"),
        ({"$deleteFromPrimitiveLists/finalizers": ["a"]}, 400, "invalid patch format of primitive list"),
        ({"$setElementOrder": ["a"]}, 400, "invalid patch format of setElementOrder list"),
        ({"$setElementOrders/finalizers": ["a"]}, 400, "invalid patch format of setElementOrder list"),
        ({"$setElementOrder": "a"}, 500, "expected a []interface {}, but received a string"),
        ({"$setElementOrder/finalizers": ["a"], "finalizers": []}, 500, "no elements in any of the given slices"),
        ({"$patch": 5}, 500, "unknown patch type: %!s(int64=5) in map: map[$patch:5]"),
        ({"$patch": None}, 500, "unknown patch type: %!s(<nil>) in map: map[$patch:<nil>]"),
        ({"$patch": [True, "x"]}, 500, "unknown patch type: [%!s(bool=true) x] in map: map[$patch:[true x]]"),
        ({"$patch": {"a": 1.5}}, 500, "unknown patch type: map[a:%!s(float64=1.5)] in map: map[$patch:map[a:1.5]]"),
    ],
)
def test_a_directive_that_says_nothing_is_refused(metadata: dict[str, Any], code: int, message: str) -> None:
    patch = StrategicPatch(orjson.dumps({"metadata": metadata}), DEPLOYMENT)
    with pytest.raises(ApiError) as raised:
        patch.apply({"metadata": {"name": "a"}})
    assert (raised.value.code, raised.value.message) == (code, message)


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (2.0, 2),
        (-0.0, 0),
        (3e9, -1294967296),
        (2**31, -(2**31)),
        (2**63 - 1, -1),
        (1e20, 0),
        (-5, -5),
    ],
)
def test_numbers_are_cut_off_to_the_width_of_their_field(sent: float, stored: int) -> None:
    patch = StrategicPatch(b"{}", DEPLOYMENT)
    outcome = patch.restored({"spec": {"replicas": sent, "strategy": {"rollingUpdate": {"maxSurge": 7.0}}}})
    assert outcome == {"spec": {"replicas": stored, "strategy": {"rollingUpdate": {"maxSurge": 7}}}}
    assert type(outcome["spec"]["replicas"]) is int
    wide = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 1e20}}}}
    assert patch.restored(wide)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == -(2**63)


def test_integers_beyond_int64_are_floats_to_the_reference() -> None:
    patch = StrategicPatch(b'{"spec":{"paused":9223372036854775808,"replicas":9223372036854775807}}', DEPLOYMENT)
    assert patch.shown({}) == "map[spec:map[paused:9.223372036854776e+18 replicas:9223372036854775807]]"


@pytest.mark.parametrize(
    ("patch", "struct"),
    [
        (b'{"$setElementOrder/none":[]}', "Deployment"),
        (b'{"spec":{"template":{"spec":{"$setElementOrder/none":[{"name":"a"}]}}}}', "PodSpec"),
    ],
)
def test_an_order_of_a_list_that_no_kind_has_is_refused(patch: bytes, struct: str) -> None:
    body: dict[str, Any] = {"spec": {"template": {"spec": {"containers": []}}}}
    with pytest.raises(ApiError) as refused:
        StrategicPatch(patch, DEPLOYMENT).apply(body)
    assert refused.value.code == 500
    assert refused.value.message == f'unable to find api field in struct {struct} for the json field "none"'


def test_what_is_free_of_form_cannot_be_merged_below_its_first_level() -> None:
    revision = schema_data().kinds[GroupVersionKind("apps", "v1", "ControllerRevision")]
    live = {"data": {"a": {"b": 1}, "n": 1}}
    patch = StrategicPatch(b'{"data":{"n":2,"new":{"x":[1]}}}', revision)
    assert patch.apply(live) == {"data": {"a": {"b": 1}, "n": 2, "new": {"x": [1]}}}
    with pytest.raises(ApiError) as refused:
        StrategicPatch(b'{"data":{"a":{"b":2}}}', revision).apply({"data": {"a": {"b": 1}}})
    assert refused.value.code == 500
    assert refused.value.message == 'unable to find api field in struct RawExtension for the json field "a"'


SLICE = schema_data().kinds[GroupVersionKind("resource.k8s.io", "v1", "ResourceSlice")]


def test_unknown_fields_are_told_without_keys_of_maps_escapes_or_a_limit() -> None:
    attributes = {"a": {"string": "x", "kind": 1}, "b": {"kind": 2}}
    outcome: dict[str, Any] = {"spec": {"devices": [{}, {"attributes": attributes, 'say "a"': None}]}, "b": 0, "a": 0}
    assert unknown_fields(SLICE, outcome) == [
        'unknown field "a"',
        'unknown field "b"',
        'unknown field "spec.devices[1].attributes.kind"',
        'unknown field "spec.devices[1].attributes.kind"',
        'unknown field "spec.devices[1].say "a""',
    ]
    assert len(unknown_fields(SLICE, {"spec": {f"n{i}": 1 for i in range(150)}})) == 150
    assert unknown_fields(SLICE, {"metadata": {"name": "a", "managedFields": [{"fieldsV1": {"f:x": {}}}]}}) == []


CLUSTER_ROLE = schema_data().kinds[GroupVersionKind("rbac.authorization.k8s.io", "v1", "ClusterRole")]
REVISION = schema_data().kinds[GroupVersionKind("apps", "v1", "ControllerRevision")]
WITH_RULES = {"rules": [{"verbs": ["get"]}]}


@pytest.mark.parametrize(
    ("schema", "live", "patch", "message"),
    [
        (REVISION, {"data": [1]}, {"data": [2]}, "expected slice or array type, but got: struct"),
        (
            CLUSTER_ROLE,
            WITH_RULES,
            {"rules": [], "$setElementOrder/rules": []},
            "map: map[verbs:[get]] does not contain declared merge key: ",
        ),
        (
            CLUSTER_ROLE,
            WITH_RULES,
            {"rules": [], "$setElementOrder/rules": ["a"]},
            "expected a map[string]interface {}, but received a string",
        ),
        (
            CLUSTER_ROLE,
            WITH_RULES,
            {"$setElementOrder/rules": []},
            "Internal error occurred: runtime error: hash of unhashable type map[string]interface {}",
        ),
        (
            CLUSTER_ROLE,
            WITH_RULES,
            {"$retainKeys": [["a"]]},
            "Internal error occurred: runtime error: hash of unhashable type []interface {}",
        ),
        (
            CLUSTER_ROLE,
            {"metadata": {"finalizers": []}},
            {"metadata": {"finalizers": [{}]}},
            "cannot merge lists without merge key for string",
        ),
    ],
)
def test_lists_that_cannot_be_merged_or_ordered_are_refused(
    schema: Any, live: dict[str, Any], patch: dict[str, Any], message: str
) -> None:
    with pytest.raises(ApiError) as refused:
        StrategicPatch(orjson.dumps(patch), schema).apply(orjson.loads(orjson.dumps(live)))
    assert (refused.value.code, refused.value.message) == (500, message)

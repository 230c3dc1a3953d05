from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.codec import (
    Decoded,
    check_strict,
    check_version,
    decode_body,
    decode_options,
    encode,
    wrong_kind,
)
from watchkeeper.runtime.scheme import Kind, gvk_of
from watchkeeper.runtime.strict import in_path_order, warnings_of

SCHEME = builtin_scheme()
CONFIG_MAP = SCHEME.kind(GroupVersionKind("", "v1", "ConfigMap"))
POD = SCHEME.kind(GroupVersionKind("", "v1", "Pod"))
HPA_V1 = SCHEME.kind(GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler"))
DEPLOYMENT = SCHEME.kind(GroupVersionKind("apps", "v1", "Deployment"))


def decode(body: bytes, kind: Kind = CONFIG_MAP, *, yaml: bool = False) -> Decoded:
    return decode_body(SCHEME, kind, body, yaml=yaml, strict=True)


def refusal(body: bytes, kind: Kind = CONFIG_MAP, *, yaml: bool = False) -> str:
    with pytest.raises(ApiError) as raised:
        decoded = decode(body, kind, yaml=yaml)
        check_strict(decoded, kind)
        check_version(decoded, kind)
    assert raised.value.code == 400
    return str(raised.value)


def test_what_a_body_leaves_unsaid_is_taken_from_the_request() -> None:
    assert decode(b'{"data":{"k":"1"}}').obj["kind"] == "ConfigMap"
    assert decode(b'{"kind":"Deployment"}', DEPLOYMENT).obj["apiVersion"] == "apps/v1"
    assert decode(b"null").obj == {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {}}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b"{bad",
            "couldn't get version/kind; json parse error: "
            "invalid character 'b' looking for beginning of object key string ({bad)",
        ),
        (b"", "couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)"),
        (b'{"apiVersion":"a/b/c"}', 'unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})'),
        (
            b'{"kind":5,"metadata":{"name":"a"}}',
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind "
            'of type string ({"kind":5,"metadata":{"name":" ...)',
        ),
        (
            b'{"kind":"ConfigMap","KIND":5}',
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind "
            'of type string ({"kind":"ConfigMap","KIND":5})',
        ),
        (
            b"[" * 20_000,
            f"couldn't get version/kind; json parse error: invalid character '[' exceeded max depth ({'5b' * 30} ...)",
        ),
    ],
)
def test_a_body_that_does_not_say_what_it_is_is_unrecognized(body: bytes, message: str) -> None:
    assert refusal(body) == f"the object provided is unrecognized (must be of type ConfigMap): {message}"


def test_the_last_spelling_of_what_a_body_is_counts() -> None:
    assert decode(b'{"KIND":"Nonsense","kind":"ConfigMap"}').obj["kind"] == "ConfigMap"
    assert wrong_kind(SCHEME, CONFIG_MAP, {"kind": "ConfigMap", "KIND": "Nonsense"}) == ""
    assert "Nonsense" in wrong_kind(SCHEME, CONFIG_MAP, {"KIND": "Nonsense"})


def test_a_body_that_is_no_object_is_unrecognized() -> None:
    assert "cannot unmarshal array into Go value of type struct { APIVersion string" in refusal(b"[]")
    assert refusal(b'"text"').endswith("(227465787422)")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b'{"kind":"Secret","apiVersion":"v1"}',
            'Secret in version "v1" cannot be handled as a ConfigMap: '
            "converting (v1.Secret) to (core.ConfigMap): unknown conversion",
        ),
        (
            b'{"kind":"Nonsense","apiVersion":"v1"}',
            'Nonsense in version "v1" cannot be handled as a ConfigMap: no kind "Nonsense" is registered for '
            'version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            b'{"kind":"ConfigMap","KIND":"Nonsense","Kind":null}',
            'Nonsense in version "v1" cannot be handled as a ConfigMap: no kind "Nonsense" is registered for '
            'version "v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            b'{"apiversion":"v9"}',
            'ConfigMap in version "v9" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for '
            'version "v9" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            b'{"kind":"Config\\nMap","apiVersion":"v\\"1"}',
            'Config\nMap in version "v\\"1" cannot be handled as a ConfigMap: no kind "Config\\nMap" is registered for '
            'version "v\\"1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            b'{"apiVersion":"apps/v1"}',
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for '
            'version "apps/v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            b'{"kind":"APIGroup","apiVersion":"nowhere/v7"}',
            'APIGroup in version "v7" cannot be handled as a ConfigMap: '
            "converting (v1.APIGroup) to (core.ConfigMap): unknown conversion",
        ),
        (
            b'{"kind":"Table","apiVersion":"meta.k8s.io/v1"}',
            'Table in version "v1" cannot be handled as a ConfigMap: no kind "Table" is registered for '
            'version "meta.k8s.io/v1" in scheme "pkg/api/legacyscheme/scheme.go:30"',
        ),
        (
            b'{"data":{"k":1}}',
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
            "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
        ),
        (
            b'{"odd":1,"metadata":{"odd":1}}',
            'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
            'strict decoding error: unknown field "odd", unknown field "metadata.odd"',
        ),
    ],
)
def test_a_body_of_something_else_cannot_be_handled(body: bytes, message: str) -> None:
    assert refusal(body) == message


@pytest.mark.parametrize("number", ["1.0", "1e3", "10E-1", "-0.5", "99999999999999999999"])
def test_a_number_that_does_not_fit_is_shown_as_it_was_written(number: str) -> None:
    body = b'{"spec":{"minReadySeconds":1,"replicas":%s}}' % number.encode()
    assert refusal(body, DEPLOYMENT).endswith(
        f"json: cannot unmarshal number {number} into Go struct field DeploymentSpec.spec.replicas of type int32"
    )


@pytest.mark.parametrize(
    ("number", "quantity"),
    [
        ("1e3", "1e3"),
        ("1E3", "1E3"),
        ("1000.0", "1k"),
        ("1.25e-1", "1.25e-1"),
        ("1e400", "10e399"),
        ("1e-400", "1e-3"),
        ("0.000000001", "1m"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
    ],
)
def test_a_quantity_that_is_a_number_is_read_as_it_is_written(number: str, quantity: str) -> None:
    body = b'{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":%b}}}]}}' % number.encode()
    for _ in range(2):  # what is known of one spec must not be taken for another one
        (container,) = decode_body(SCHEME, POD, body, strict=True).obj["spec"]["containers"]
        assert container["resources"]["limits"] == {"cpu": quantity}
    exact = decode_body(SCHEME, POD, body.replace(number.encode(), b"1000"), strict=True).obj
    assert exact["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1k"}


def test_a_number_beyond_all_floats_counts_where_it_is_looked_at() -> None:
    found = decode(b'{"metadata":{"name":"n"},"odd":1e400}')
    assert (found.obj["metadata"], found.errors) == ({"name": "n"}, ['unknown field "odd"'])
    assert "number 1e400 into Go struct field ObjectMeta.metadata.generation of type int64" in refusal(
        b'{"metadata":{"generation":1e400}}'
    )
    assert decode(b"metadata: {name: x, labels: {a: 1e400}}", yaml=True).obj["metadata"]["labels"] == {"a": "1e400"}


EVERYWHERE: dict[str, dict[str, Any]] = {
    "Pod": {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": "n",
            "labels": {"a": "b"},
            "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [{"manager": "m", "operation": "Update", "fieldsV1": {"f:a": {}}}],
        },
        "spec": {
            "hostNetwork": True,
            "containers": [
                {
                    "name": "c",
                    "args": ["a"],
                    "resources": {"limits": {"cpu": "1"}},
                    "livenessProbe": {"httpGet": {"port": 80}},
                }
            ],
        },
    },
    "CustomResourceDefinition": {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1",
        "spec": {
            "versions": [
                {
                    "name": "v1",
                    "schema": {
                        "openAPIV3Schema": {
                            "items": {"type": "string", "maximum": 1, "enum": ["a"], "default": {"a": 1}},
                            "additionalProperties": {"type": "string"},
                        }
                    },
                }
            ]
        },
    },
    "Secret": {"kind": "Secret", "apiVersion": "v1", "data": {"a": "YQ=="}},
}


def replaced_everywhere(value: Any, by: str) -> Iterator[Any]:
    """The value with one part of it, or all of it, replaced."""
    yield by
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        for other in replaced_everywhere(item, by):
            changed = value.copy()
            changed[key] = other
            yield changed


@pytest.mark.parametrize("number", ["1e400", "-1e400", "1e3", "1.5", "123456789012345678901234567890"])
@pytest.mark.parametrize("kind", EVERYWHERE)
def test_a_number_anywhere_is_decoded_or_refused(kind: str, number: str) -> None:
    expected = SCHEME.kind(gvk_of(EVERYWHERE[kind]))
    refused = 0
    bodies = [
        orjson.dumps(b).replace(b'"NUMBER"', number.encode()) for b in replaced_everywhere(EVERYWHERE[kind], "NUMBER")
    ]
    for body in bodies:
        try:
            decoded = decode_body(SCHEME, expected, body, strict=True)
        except ApiError as error:
            assert error.code == 400
            refused += 1
        else:
            assert orjson.loads(orjson.dumps(decoded.obj)) == decoded.obj
    assert len(bodies) // 2 < refused <= len(bodies)


def test_another_version_of_the_kind_is_decoded_but_does_not_match() -> None:
    body = b'{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler"}'
    assert decode(body, HPA_V1).kind.gvk.version == "v2"
    assert refusal(body, HPA_V1) == (
        "the API version in the data (autoscaling/v2) does not match the expected API version (autoscaling/v1)"
    )


TWICE = b'{"metadata":{"name":"x","name":"a"},"data":{"k":"1","k":"2"},"data":{"m":"3"}}'


def test_fields_set_twice_are_told_in_the_order_of_the_text() -> None:
    assert decode(TWICE).errors == [
        'duplicate field "metadata.name"',
        'duplicate field "data.k"',
        'duplicate field "data"',
    ]


def test_maps_set_twice_are_merged_whether_anybody_asks_or_not() -> None:
    assert decode_body(SCHEME, CONFIG_MAP, TWICE).obj["data"] == {"k": "2", "m": "3"}
    spec = (
        b'{"spec":{"replicas":3,"replicas":null,"minReadySeconds":5,"minReadySeconds":null,'
        b'"selector":{"matchLabels":{"a":"b"}},"selector":{}}}'
    )
    decoded = decode(spec, DEPLOYMENT).obj["spec"]
    assert decoded["selector"] == {"matchLabels": {"a": "b"}}
    assert decoded.get("replicas") != 3, "null unsets a pointer"
    assert decoded["minReadySeconds"] == 5, "null has no effect on a number"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"data":1,"data":{}}', "number into Go struct field ConfigMap.data of type map[string]string"),
        (
            b'{"binaryData":[],"binaryData":{}}',
            "array into Go struct field ConfigMap.binaryData of type map[string][]uint8",
        ),
        (
            b'{"metadata":{"ownerReferences":[{"name":{"a":1,"a":2}}],"ownerReferences":"a"}}',
            "object into Go struct field OwnerReference.metadata.ownerReferences.name of type string",
        ),
        (b'{"data":{"a":1,"a":"b"}}', "number into Go struct field ConfigMap.data of type string"),
    ],
)
def test_the_first_wrong_type_counts_also_where_its_field_comes_again(body: bytes, words: str) -> None:
    assert refusal(body).endswith(f"json: cannot unmarshal {words}")


def test_bytes_are_unset_by_null() -> None:
    hooks = SCHEME.kind(GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"))
    body = b'{"webhooks":[{"name":"a","clientConfig":{"caBundle":"YQ==","caBundle":null}}]}'
    assert decode(body, hooks).obj["webhooks"][0]["clientConfig"] == {}


def test_escapes_do_not_hide_or_feign_fields_set_twice() -> None:
    assert decode(b'{"data":{"k":"1","\\u006b":"2"}}').errors == ['duplicate field "data.k"']
    assert decode(b'{"data":{"a":"\\u003a\\":","b":"::"}}').errors == []


def test_yaml_is_decoded_like_json_and_tells_lines_of_fields_set_twice() -> None:
    body = b"kind: ConfigMap\nodd: 1\ndata:\n  k: '1'\n  k: '2'\n"
    decoded = decode(body, yaml=True)
    assert decoded.obj["data"] == {"k": "2"}
    assert decoded.errors == [
        'yaml: unmarshal errors:\n  line 5: key "k" already set in map',
        'unknown field "odd"',
    ]
    assert warnings_of(decoded.errors) == ['line 5: key "k" already set in map', 'unknown field "odd"']


def test_yaml_with_a_boolean_for_a_name_is_refused() -> None:
    assert "cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string" in refusal(
        b"metadata:\n  name: y\n", yaml=True
    )


def test_an_object_is_written_with_kind_version_and_metadata_first() -> None:
    body = encode({"data": {}, "metadata": {"name": "a"}, "apiVersion": "v1", "kind": "ConfigMap"})
    assert body == b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{}}'


def test_errors_can_be_put_into_the_order_of_sorted_keys() -> None:
    given = ["b", "a[10].x", "a[2].y", "a[2].b", "a-b", "a"]
    ordered = in_path_order([f'unknown field "{path}"' for path in given])
    assert [each.split('"')[1] for each in ordered] == ["a", "a[2].b", "a[2].y", "a[10].x", "a-b", "b"]


def test_a_number_beyond_all_floats_does_not_matter_where_options_have_no_field() -> None:
    kind = SCHEME.kind(GroupVersionKind("", "v1", "DeleteOptions"))
    assert decode_options(kind, b'{"odd":[1e400],"gracePeriodSeconds":3}')["gracePeriodSeconds"] == 3
    with pytest.raises(ApiError, match=r"number 1e400 into Go struct field DeleteOptions\.gracePeriod"):
        decode_options(kind, b'{"gracePeriodSeconds":1e400}')


def test_a_number_that_options_cannot_hold_is_told_as_it_was_written() -> None:
    kind = SCHEME.kind(GroupVersionKind("", "v1", "DeleteOptions"))
    with pytest.raises(ApiError, match="cannot unmarshal number 99999999999999999999 into Go struct field"):
        decode_options(kind, b'{"gracePeriodSeconds":99999999999999999999}')


def test_a_body_of_a_version_that_is_served_no_more_has_the_fields_of_that_version() -> None:
    definition = SCHEME.kind(GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))
    spec: dict[str, Any] = {
        "version": "v1",
        "validation": {"openAPIV3Schema": {}},
        "subresources": {"status": {}},
        "conversion": {"strategy": "None", "conversionReviewVersions": ["v1"]},
        "versions": [{"name": "v1", "additionalPrinterColumns": [{"name": "a", "JSONPath": ".a", "x": 1}]}],
        "other": 1,
    }
    body = {"apiVersion": "apiextensions.k8s.io/v1beta1", "kind": "CustomResourceDefinition", "spec": spec}
    unknown = ['unknown field "spec.other"', 'unknown field "spec.versions[0].additionalPrinterColumns[0].x"']
    assert sorted(decode(orjson.dumps(body), definition).errors) == unknown
    assert len(decode(orjson.dumps({**body, "apiVersion": "apiextensions.k8s.io/v1"}), definition).errors) == 7
    service = SCHEME.kind(GroupVersionKind("apiregistration.k8s.io", "v1", "APIService"))
    assert refusal(b'{"apiVersion":"apiregistration.k8s.io/v1beta1","kind":"APIService"}', service) == (
        "the API version in the data (apiregistration.k8s.io/v1beta1) does not match the expected API version "
        "(apiregistration.k8s.io/v1)"
    )

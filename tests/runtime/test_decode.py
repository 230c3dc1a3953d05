from __future__ import annotations

import copy
import random
from typing import Any

import pytest

from watchkeeper.apis.schema_data import kind_schema, schema_data
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.decode import compile_decoder
from watchkeeper.runtime.schema import Schema, SchemaType
from watchkeeper.runtime.scheme import DecodeError
from watchkeeper.runtime.unmarshal import unmarshal
from watchkeeper.runtime.with_empties import as_sent, as_shown

POD = GroupVersionKind("", "v1", "Pod")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
ROLE = GroupVersionKind("rbac.authorization.k8s.io", "v1", "Role")
CRD = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


def decode(gvk: GroupVersionKind, obj: Any, unknown: list[str] | None = None) -> Any:
    return compile_decoder(kind_schema(gvk))(obj, unknown)


def fault(gvk: GroupVersionKind, obj: Any) -> str:
    with pytest.raises(DecodeError) as raised:
        decode(gvk, obj)
    return str(raised.value)


def test_fields_that_nobody_set_show_where_the_encoder_shows_them() -> None:
    assert decode(DEPLOYMENT, {}) == {
        "metadata": {},
        "spec": {"selector": None, "template": {"metadata": {}, "spec": {"containers": None}}, "strategy": {}},
        "status": {},
    }


def test_nulls_and_zero_values_are_left_out() -> None:
    given = {
        "metadata": {"name": "a", "labels": None, "annotations": {}, "generation": 0, "creationTimestamp": None},
        "immutable": None,
        "data": {"k": None},
    }
    assert decode(CONFIG_MAP, given) == {"metadata": {"name": "a"}, "data": {"k": ""}}


def test_the_zero_time_is_left_out_where_a_null_would_be() -> None:
    zero = "0001-01-01T00:00:00Z"
    template = {"metadata": {"creationTimestamp": zero}, "spec": {"containers": None}}
    expected = {"metadata": {}, "spec": {"containers": None}}
    for unknown in ({}, {"color": "red"}):
        given = copy.deepcopy({"spec": {"template": template | unknown}})
        assert decode(DEPLOYMENT, given, [])["spec"]["template"] == expected


def test_a_pointer_to_a_zero_value_stays() -> None:
    spec = decode(DEPLOYMENT, {"spec": {"replicas": 0, "paused": False}})["spec"]
    assert spec["replicas"] == 0
    assert "paused" not in spec


def test_a_required_list_that_is_empty_is_null_where_storage_cannot_tell_them_apart() -> None:
    assert decode(ROLE, {"rules": []})["rules"] is None
    assert decode(CRD, {"spec": {"versions": []}})["spec"]["versions"] == []
    assert decode(GroupVersionKind("", "v1", "PodList"), {"items": []})["items"] == []


def test_scalars_with_a_form_take_their_canonical_form() -> None:
    pod = decode(
        POD,
        {
            "metadata": {"creationTimestamp": "2024-01-01T01:00:00+01:00"},
            "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1000m", "memory": 1024}}}]},
        },
    )
    assert pod["metadata"]["creationTimestamp"] == "2024-01-01T00:00:00Z"
    assert pod["spec"]["containers"][0]["resources"]["limits"] == {"cpu": "1", "memory": "1024"}
    assert decode(CONFIG_MAP, {"binaryData": {"a": "YR==", "b": None}})["binaryData"] == {"a": "YQ==", "b": ""}


def test_unknown_fields_are_dropped_and_named_by_their_paths_in_the_order_of_the_text() -> None:
    given = {
        "metadata": {"name": "d", "label": {"a": "b"}},
        "spec": {
            "template": {"spec": {"containers": [{"name": "m"}, {"imag": "x", "name": "n"}], "Containers": []}},
            "replica": 2,
        },
        'a"b': 1,
    }
    unknown: list[str] = []
    decoded = decode(DEPLOYMENT, given, unknown)
    assert unknown == [
        'unknown field "metadata.label"',
        'unknown field "spec.template.spec.containers[1].imag"',
        'unknown field "spec.template.spec.Containers"',
        'unknown field "spec.replica"',
        'unknown field "a\\"b"',
    ]
    assert decoded["metadata"] == {"name": "d"}
    assert [c["name"] for c in decoded["spec"]["template"]["spec"]["containers"]] == ["m", "n"]


def test_keys_of_maps_are_part_of_paths() -> None:
    unknown: list[str] = []
    schema = {"properties": {"spec": {"type": "object", "odd": 1}}}
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    decode(CRD, {"spec": {"versions": [version]}}, unknown)
    assert unknown == ['unknown field "spec.versions[0].schema.openAPIV3Schema.properties.spec.odd"']


@pytest.mark.parametrize(
    ("gvk", "given", "message"),
    [
        (CONFIG_MAP, {"data": {"k": 1}}, "number into Go struct field ConfigMap.data of type string"),
        (CONFIG_MAP, {"data": ["k"]}, "array into Go struct field ConfigMap.data of type map[string]string"),
        (
            CONFIG_MAP,
            {"metadata": {"labels": ["x"]}},
            "array into Go struct field ObjectMeta.metadata.labels of type map[string]string",
        ),
        (CONFIG_MAP, {"metadata": 5}, "number into Go struct field ConfigMap.metadata of type v1.ObjectMeta"),
        (
            CONFIG_MAP,
            {"metadata": {"creationTimestamp": 5}},
            "number into Go struct field ObjectMeta.metadata.creationTimestamp of type string",
        ),
        (
            DEPLOYMENT,
            {"spec": {"replicas": "3"}},
            "string into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            DEPLOYMENT,
            {"spec": {"replicas": 3000000000}},
            "number 3000000000 into Go struct field DeploymentSpec.spec.replicas of type int32",
        ),
        (
            DEPLOYMENT,
            {"spec": {"template": []}},
            "array into Go struct field DeploymentSpec.spec.template of type v1.PodTemplateSpec",
        ),
        (
            DEPLOYMENT,
            {"spec": {"template": {"spec": {"containers": [{"env": [{"value": True}]}]}}}},
            "bool into Go struct field EnvVar.spec.template.spec.containers.env.value of type string",
        ),
        (
            DEPLOYMENT,
            {"spec": {"strategy": {"rollingUpdate": {"maxSurge": 1.5}}}},
            "number 1.5 into Go struct field RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge "
            "of type int32",
        ),
        (CONFIG_MAP, [], "array into Go value of type v1.ConfigMap"),
    ],
)
def test_a_wrong_type_is_told_in_the_words_of_the_reference(gvk: GroupVersionKind, given: Any, message: str) -> None:
    assert fault(gvk, given) == f"json: cannot unmarshal {message}"


@pytest.mark.parametrize(
    ("gvk", "given", "message"),
    [
        (
            POD,
            {"spec": {"volumes": [{"emptyDir": "x"}]}},
            "string into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource",
        ),
        (
            POD,
            {"spec": {"volumes": [{"name": 1}]}},
            "number into Go struct field Volume.spec.volumes.name of type string",
        ),
        (
            POD,
            {"spec": {"containers": [{"livenessProbe": {"httpGet": {"port": True}}}]}},
            "bool into Go struct field "
            "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
        ),
        (
            POD,
            {"spec": {"containers": [{"livenessProbe": {"periodSeconds": "x"}}]}},
            "string into Go struct field Probe.spec.containers.livenessProbe.periodSeconds of type int32",
        ),
        (
            POD,
            {"spec": {"containers": [{"envFrom": [{"secretRef": {"name": 5}}]}]}},
            "number into Go struct field SecretEnvSource.spec.containers.envFrom.secretRef.LocalObjectReference.name "
            "of type string",
        ),
        (
            POD,
            {"spec": {"ephemeralContainers": [{"image": 5}]}},
            "number into Go struct field EphemeralContainer.spec.ephemeralContainers.EphemeralContainerCommon.image "
            "of type string",
        ),
        (
            GroupVersionKind("", "v1", "PersistentVolume"),
            {"spec": {"hostPath": {"path": 5}}},
            "number into Go struct field HostPathVolumeSource.spec.PersistentVolumeSource.hostPath.path of type string",
        ),
        (
            GroupVersionKind("networking.k8s.io", "v1", "Ingress"),
            {"spec": {"rules": [{"http": 5}]}},
            "number into Go struct field IngressRule.spec.rules.IngressRuleValue.http of type v1.HTTPIngressRuleValue",
        ),
        (
            GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"),
            {"spec": {"matchConstraints": {"resourceRules": [{"resources": 5}]}}},
            "number into Go struct field NamedRuleWithOperations."
            "spec.matchConstraints.resourceRules.RuleWithOperations.Rule.resources of type []string",
        ),
        (
            GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
            {"webhooks": [{"rules": [{"operations": 5}]}]},
            "number into Go struct field RuleWithOperations.webhooks.rules.operations of type []v1.OperationType",
        ),
        (
            GroupVersionKind("apps", "v1", "StatefulSet"),
            {"spec": {"volumeClaimTemplates": [{"kind": 5}]}},
            "number into Go struct field PersistentVolumeClaim.spec.volumeClaimTemplates.TypeMeta.kind of type string",
        ),
        (
            GroupVersionKind("policy", "v1", "Eviction"),
            {"deleteOptions": {"apiVersion": 5}},
            "number into Go struct field DeleteOptions.deleteOptions.TypeMeta.apiVersion of type string",
        ),
        (
            GroupVersionKind("resource.k8s.io", "v1", "DeviceClass"),
            {"spec": {"config": [{"opaque": 5}]}},
            "number into Go struct field DeviceClassConfiguration.spec.config.DeviceConfiguration.opaque "
            "of type v1.OpaqueDeviceConfiguration",
        ),
    ],
)
def test_a_wrong_type_is_placed_through_the_structs_that_go_embeds(
    gvk: GroupVersionKind, given: Any, message: str
) -> None:
    assert fault(gvk, given) == f"json: cannot unmarshal {message}"


def test_the_first_wrong_type_counts_but_a_refused_text_wins() -> None:
    container = {"name": 1, "image": 2}
    assert "Container.spec.containers.name" in fault(POD, {"spec": {"containers": [container]}})
    container["resources"] = {"limits": {"cpu": "lots"}}
    assert fault(POD, {"spec": {"containers": [container]}}).startswith("quantities must match")
    assert fault(CONFIG_MAP, {"binaryData": {"a": "not base64"}}) == "illegal base64 data at input byte 3"


def test_bytes_may_be_a_list_of_numbers() -> None:
    given = {"binaryData": {"a": [1, 2, None], "b": [], "c": None}}
    assert decode(CONFIG_MAP, given)["binaryData"] == {"a": "AQIA", "b": "", "c": ""}
    for value, message in (
        ([256], "number 256 into Go struct field ConfigMap.binaryData of type uint8"),
        (["a"], "string into Go struct field ConfigMap.binaryData of type uint8"),
        ({}, "object into Go struct field ConfigMap.binaryData of type []uint8"),
    ):
        assert fault(CONFIG_MAP, {"binaryData": {"a": value}}) == f"json: cannot unmarshal {message}"


def test_schemas_within_self_decoding_types_are_pruned_in_silence_and_faults_are_placed_outside() -> None:
    def crd(items: Any) -> dict[str, Any]:
        schema = {"openAPIV3Schema": {"properties": {"a": {"items": items}}}}
        return {"spec": {"versions": [{"name": "v1", "schema": schema}]}}

    unknown: list[str] = []
    decoded = decode(CRD, crd({"type": "string", "odd": 1}), unknown)
    assert decoded["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"] == {
        "items": {"type": "string"}
    }
    assert unknown == []
    where = "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.properties.items"
    assert (
        fault(CRD, crd({"minLength": "x"}))
        == f"json: cannot unmarshal string into Go struct field {where} of type int64"
    )


def test_at_most_a_hundred_unknown_fields_are_told() -> None:
    unknown: list[str] = []
    decode(CONFIG_MAP, {f"x{i}": 1 for i in range(150)}, unknown)
    assert len(unknown) == 100


def test_decoding_is_bounded_for_types_that_hold_themselves() -> None:
    schema: dict[str, Any] = {}
    for _ in range(20_000):
        schema = {"properties": {"a": schema}}
    given = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}
    assert fault(CRD, given) == "exceeded max depth"


# -- the quick walk against the complete one ------------------------------------------------------------------


class Bodies:
    """Random bodies of a kind: mostly plain, at times with nulls, empty values, unknown fields and wrong types."""

    WRONG = (None, "", "x", 0, 5, -3, 2**40, 1.5, True, False, [], ["x"], {}, {"x": 1})
    TEXTS = {
        "quantity": ("1", "1000m", "1Gi", 5, "0", "odd"),
        "date-time": ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00.5+01:00", "odd"),
        "micro-time": ("2024-01-01T00:00:00.123456Z", "odd"),
        "byte": ("", "YQ==", "YR==", "?"),
    }

    def __init__(self, seed: int, *, wild: float) -> None:
        self._random = random.Random(seed)
        self._wild = wild

    def value(self, schema: Schema, depth: int = 0) -> Any:
        rng = self._random
        if rng.random() < self._wild:
            return rng.choice(self.WRONG)
        kind = schema.type
        if kind is SchemaType.STRUCT:
            return self._struct(schema, depth)
        if kind is SchemaType.LIST:
            assert schema.element is not None
            return [self.value(schema.element, depth + 1) for _ in range(rng.randrange(3) if depth < 7 else 0)]
        if kind is SchemaType.MAP:
            assert schema.element is not None
            keys = [f"k{i}" for i in range(rng.randrange(3) if depth < 7 else 0)]
            return {key: self.value(schema.element, depth + 1) for key in keys}
        return self._scalar(schema)

    def _struct(self, schema: Schema, depth: int) -> dict[str, Any]:
        rng = self._random
        names = [n for n in schema.fields if rng.random() < (0.5 if depth < 3 else 0.15)]
        rng.shuffle(names)
        found = {n: self.value(schema.fields[n].schema, depth + 1) for n in names}
        if rng.random() < self._wild:
            found["odd"] = 1
        return found

    def _scalar(self, schema: Schema) -> Any:
        rng = self._random
        if schema.type is SchemaType.STRING:
            return rng.choice(self.TEXTS.get(schema.format, ("", "a", "b")))
        if schema.type is SchemaType.ANY:
            return rng.choice(({"any": None}, {"type": "string"}, True, [{"type": "object"}]))
        choices: dict[SchemaType, tuple[Any, ...]] = {
            SchemaType.INTEGER: (0, 1, 80),
            SchemaType.NUMBER: (0, 1.5, 2.0),
            SchemaType.BOOLEAN: (True, False),
            SchemaType.INT_OR_STRING: (0, 80, "25%", ""),
        }
        return rng.choice(choices[schema.type])


@pytest.mark.parametrize("odd", [{}, {"odd": 1}])
def test_an_empty_record_of_owners_is_a_request_that_decoding_keeps(odd: Any) -> None:
    obj = {"metadata": {"name": "a", "managedFields": [], **odd}, "managedFields": []}
    metadata = decode(CONFIG_MAP, obj)["metadata"]
    assert metadata == {"name": "a"}
    assert metadata.get("managedFields") == []
    assert decode(CONFIG_MAP, {"metadata": {"name": "a"}, "managedFields": []}) == {"metadata": {"name": "a"}}


def as_sent_throughout(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: as_sent_throughout(each) for name, each in as_sent(value).items()}
    return [as_sent_throughout(each) for each in value] if isinstance(value, (list, tuple)) else value


KINDS = sorted(gvk for gvk in schema_data().kinds if not gvk.kind.endswith(("List", "Options", "Event")))


@pytest.mark.parametrize("wild", [0.0, 0.02, 0.2])
def test_the_quick_walk_and_the_complete_one_agree(wild: float) -> None:
    for seed in range(400):
        gvk = KINDS[seed * 7 % len(KINDS)]
        schema = kind_schema(gvk)
        given = Bodies(seed, wild=wild).value(schema)
        quick = outcome(lambda unknown, s=schema, g=given: compile_decoder(s)(copy.deepcopy(g), unknown))
        complete = outcome(lambda unknown, s=schema, g=given: unmarshal(s, copy.deepcopy(g), unknown))
        assert as_sent_throughout(quick) == as_sent_throughout(complete), (gvk, given)
        assert as_shown(quick) == as_shown(complete), (gvk, given)


def test_decoding_what_was_decoded_changes_nothing() -> None:
    for seed in range(300):
        gvk = KINDS[seed * 11 % len(KINDS)]
        decoder = compile_decoder(kind_schema(gvk))
        try:
            once = decoder(Bodies(seed, wild=0.01).value(kind_schema(gvk)), None)
        except DecodeError:
            continue
        unknown: list[str] = []
        assert decoder(copy.deepcopy(once), unknown) == once, gvk
        assert unknown == []


def outcome(run: Any) -> Any:
    unknown: list[str] = []
    try:
        return run(unknown), unknown
    except DecodeError as error:
        return str(error)

"""Built-in objects in protobuf, byte for byte as the Go types write them."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.apis.protobuf import object_of, protobuf_of
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.runtime.protobuf import ProtobufError

Object = dict[str, Any]

GO: list[tuple[Object, str]] = [
    (
        {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {
                "name": "a",
                "labels": {"b": "2", "a": "1"},
                "creationTimestamp": "2026-01-31T10:20:30Z",
                "managedFields": [
                    {
                        "manager": "m",
                        "operation": "Update",
                        "apiVersion": "v1",
                        "time": "2026-01-31T10:20:30Z",
                        "fieldsType": "FieldsV1",
                        "fieldsV1": {"f:data": {".": {}}},
                    }
                ],
            },
            "data": {"k": "v"},
            "binaryData": {"b": "AAEC"},
            "immutable": False,
        },
        "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEn4KaAoBYRIAGgAiACoAMgA4AEIICO6u98sGEABaBgoBYRIBMVoGCgFiEgEyigE8CgFt"
        "EgZVcGRhdGUaAnYxIggI7q73ywYQADIIRmllbGRzVjE6FQoTeyJmOmRhdGEiOnsiLiI6e319fUIAEgYKAWsSAXYaCAoBYhID"
        "AAECIAAaACIA",
    ),
    (
        {
            "kind": "Service",
            "apiVersion": "v1",
            "metadata": {"name": "s"},
            "spec": {
                "ports": [{"port": 80, "targetPort": "web", "protocol": "TCP"}, {"port": -1, "targetPort": 8080}],
                "ipFamilies": ["IPv4"],
            },
            "status": {"loadBalancer": {}},
        },
        "azhzAAoNCgJ2MRIHU2VydmljZRJkChEKAXMSABoAIgAqADIAOABCABJLChYKABIDVENQGFAiCQgBEAAaA3dlYigAChoKABIA"
        "GP///////////wEiBwgAEJA/GgAoABoAIgA6AEIAUgBaAGAAaACaAQRJUHY0GgIKABoAIgA=",
    ),
    (
        {
            "kind": "Pod",
            "apiVersion": "v1",
            "metadata": {"name": "p", "deletionTimestamp": "2026-01-31T10:20:30Z", "deletionGracePeriodSeconds": 0},
            "spec": {
                "volumes": [{"name": "v", "configMap": {"name": "c"}}],
                "containers": [
                    {
                        "name": "c",
                        "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}},
                        "env": [{"name": "e", "valueFrom": {"configMapKeyRef": {"name": "n", "key": "k"}}}],
                        "readinessProbe": {"exec": {"command": ["x"]}},
                    }
                ],
            },
            "status": {},
        },
        "azhzAAoJCgJ2MRIDUG9kEsMBCh0KAXASABoAIgAqADIAOABCAEoICO6u98sGEABQABKMAQoNCgF2EgiaAQUKAwoBYxJfCgFj"
        "EgAqADoRCgFlEgAaChoICgMKAW4SAWtCIAoNCgNjcHUSBgoENTAwbQoPCgZtZW1vcnkSBQoDMUdpWhEKBQoDCgF4EAAYACAA"
        "KAAwAGoAcgCAAQCIAQCQAQCiAQAaADIAQgBKAFIAWABgAGgAggEAigEAmgEAwgEAGhMKABoAIgAqADIASgBaAHIAiAEAGgAi"
        "AA==",
    ),
    (
        {
            "kind": "Lease",
            "apiVersion": "coordination.k8s.io/v1",
            "metadata": {"name": "l"},
            "spec": {"renewTime": "2026-01-31T10:20:30.123456Z", "leaseTransitions": 0},
        },
        "azhzAAofChZjb29yZGluYXRpb24uazhzLmlvL3YxEgVMZWFzZRIkChEKAWwSABoAIgAqADIAOABCABIPIgsI7q73ywYQgJTvOigAGgAiAA==",
    ),
    (
        {
            "kind": "ControllerRevision",
            "apiVersion": "apps/v1",
            "metadata": {"name": "r"},
            "data": {"spec": {"a": [1, "b"]}},
            "revision": 3,
        },
        "azhzAAodCgdhcHBzL3YxEhJDb250cm9sbGVyUmV2aXNpb24SLwoRCgFyEgAaACIAKgAyADgAQgASGAoWeyJzcGVjIjp7ImEi"
        "OlsxLCJiIl19fRgDGgAiAA==",
    ),
    (
        {
            "kind": "CustomResourceDefinition",
            "apiVersion": "apiextensions.k8s.io/v1",
            "metadata": {"name": "cogs.example.io"},
            "spec": {
                "group": "example.io",
                "scope": "Cluster",
                "names": {"plural": "cogs", "kind": "Cog"},
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "properties": {
                                    "n": {"type": "number", "minimum": 0.5, "default": 1},
                                    "l": {"type": "array", "items": {"type": "string"}},
                                    "m": {"type": "object", "additionalProperties": {"type": "string"}},
                                    "o": {"type": "object", "additionalProperties": True},
                                },
                            }
                        },
                    }
                ],
            },
            "status": {"conditions": None, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"]},
        },
        "azhzAAozChdhcGlleHRlbnNpb25zLms4cy5pby92MRIYQ3VzdG9tUmVzb3VyY2VEZWZpbml0aW9uEqsDCh8KD2NvZ3MuZXhh"
        "bXBsZS5pbxIAGgAiACoAMgA4AEIAEvUCCgpleGFtcGxlLmlvGg8KBGNvZ3MSACIDQ29nKgAiB0NsdXN0ZXI6ygIKAnYxEAEY"
        "ASK9Agq6AgoAEgAiACoGb2JqZWN0MgA6AFAAYAB6AJABAOoBUQoBbBJMCgASACIAKgVhcnJheTIAOgBQAGAAegCQAQDCASYK"
        "JAoAEgAiACoGc3RyaW5nMgA6AFAAYAB6AJABAKgCALgCAMACAKgCALgCAMACAOoBVAoBbRJPCgASACIAKgZvYmplY3QyADoA"
        "UABgAHoAkAEA8gEoCAESJAoAEgAiACoGc3RyaW5nMgA6AFAAYAB6AJABAKgCALgCAMACAKgCALgCAMACAOoBNwoBbhIyCgAS"
        "ACIAKgZudW1iZXIyADoAQgMKATFQAFkAAAAAAADgP2AAegCQAQCoAgC4AgDAAgDqAS4KAW8SKQoAEgAiACoGb2JqZWN0MgA6"
        "AFAAYAB6AJABAPIBAggBqAIAuAIAwAIAqAIAuAIAwAIAOABQABoQEggKABIAIgAqABoCdjEgABoAIgA=",
    ),
    (
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "no",
            "reason": "NotFound",
            "details": {"name": "a", "kind": "pods"},
            "code": 404,
        },
        "azhzAAoMCgJ2MRIGU3RhdHVzEjMKBgoAEgAaABIHRmFpbHVyZRoCbm8iCE5vdEZvdW5kKg8KAWESABoEcG9kcygAMgAwlAMaACIA",
    ),
    (
        {
            "kind": "ConfigMapList",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": "7", "remainingItemCount": 2, "continue": "x"},
            "items": [{"metadata": {"name": "a"}}],
        },
        "azhzAAoTCgJ2MRINQ29uZmlnTWFwTGlzdBIhCgoKABIBNxoBeCACEhMKEQoBYRIAGgAiACoAMgA4AEIAGgAiAA==",
    ),
    (
        {
            "kind": "PartialObjectMetadataList",
            "apiVersion": "meta.k8s.io/v1",
            "metadata": {"resourceVersion": "7"},
            "items": [{"metadata": {"name": "a"}}],
        },
        "azhzAAorCg5tZXRhLms4cy5pby92MRIZUGFydGlhbE9iamVjdE1ldGFkYXRhTGlzdBIeCgcKABIBNxoAEhMKEQoBYRIAGgAi"
        "ACoAMgA4AEIAGgAiAA==",
    ),
    (
        {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": "v1",
            "resources": [
                {
                    "name": "pods",
                    "singularName": "pod",
                    "namespaced": True,
                    "kind": "Pod",
                    "verbs": ["get", "list"],
                    "shortNames": ["po"],
                }
            ],
        },
        "azhzAAoVCgJ2MRIPQVBJUmVzb3VyY2VMaXN0Ei8KAnYxEikKBHBvZHMQARoDUG9kIgsKA2dldAoEbGlzdCoCcG8yA3BvZEIASgBSABoAIgA=",
    ),
    (
        {
            "kind": "SubjectAccessReview",
            "apiVersion": "authorization.k8s.io/v1",
            "metadata": {},
            "spec": {"user": "u", "extra": {"k": ["a", "b"]}, "nonResourceAttributes": {"path": "/x"}},
            "status": {"allowed": False},
        },
        "azhzAAouChdhdXRob3JpemF0aW9uLms4cy5pby92MRITU3ViamVjdEFjY2Vzc1JldmlldxI4ChAKABIAGgAiACoAMgA4AEIA"
        "EhoSBgoCL3gSABoBdSoLCgFrEgYKAWEKAWIyABoICAASABoAIAAaACIA",
    ),
]
"""Objects, and what k8s.io/apimachinery's protobuf serializer makes of them."""


@pytest.mark.parametrize(("obj", "encoded"), GO, ids=[obj["kind"] for obj, _ in GO])
def test_objects_are_written_as_the_go_types_write_them(obj: Object, encoded: str) -> None:
    assert protobuf_of(obj) == base64.b64decode(encoded)


@pytest.mark.parametrize("obj", [obj for obj, _ in GO], ids=[obj["kind"] for obj, _ in GO])
def test_what_is_written_reads_back_as_the_same_object(obj: Object) -> None:
    version = GroupVersion.parse(obj["apiVersion"])
    kind = builtin_scheme().kind(GroupVersionKind(version.group, version.version, obj["kind"]))
    assert kind.decode(object_of(protobuf_of(obj)), None) == kind.decode(obj, None)


def test_kinds_that_are_not_built_in_have_no_protobuf() -> None:
    with pytest.raises(ProtobufError, match=r'no kind "Cog" is registered for version "example\.io/v1"'):
        protobuf_of({"kind": "Cog", "apiVersion": "example.io/v1"})


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": 7},
        {"containers": [7]},
        {"hostNetwork": {}, "volumes": "x"},
        {"terminationGracePeriodSeconds": "x"},
    ],
)
def test_what_is_not_of_its_kind_is_refused(spec: Object) -> None:
    with pytest.raises(ProtobufError):
        protobuf_of({"kind": "Pod", "apiVersion": "v1", "metadata": {}, "spec": spec})

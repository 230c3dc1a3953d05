"""Which Go structs of the reference embed others: errors of decoding name those on the way to a field."""

from __future__ import annotations

from watchkeeper.runtime.schema import Schema

_NAME_OF_ANOTHER = ("LocalObjectReference", frozenset({"name"}))
_TYPE_META = ("TypeMeta", frozenset({"kind", "apiVersion"}))
_RULE_FIELDS = frozenset({"apiGroups", "apiVersions", "resources", "scope"})
_DEVICE_CONFIGURATION = ("DeviceConfiguration", frozenset({"opaque"}))

_EMBEDDED = {
    "ConfigMapEnvSource": _NAME_OF_ANOTHER,
    "ConfigMapKeySelector": _NAME_OF_ANOTHER,
    "ConfigMapProjection": _NAME_OF_ANOTHER,
    "ConfigMapVolumeSource": _NAME_OF_ANOTHER,
    "SecretEnvSource": _NAME_OF_ANOTHER,
    "SecretKeySelector": _NAME_OF_ANOTHER,
    "SecretProjection": _NAME_OF_ANOTHER,
    "DeleteOptions": _TYPE_META,
    "PersistentVolumeClaim": _TYPE_META,
    "Probe": ("ProbeHandler", frozenset({"exec", "httpGet", "tcpSocket", "grpc"})),
    "IngressRule": ("IngressRuleValue", frozenset({"http"})),
    "RuleWithOperations": ("Rule", _RULE_FIELDS),
    "DeviceAllocationConfiguration": _DEVICE_CONFIGURATION,
    "DeviceClaimConfiguration": _DEVICE_CONFIGURATION,
    "DeviceClassConfiguration": _DEVICE_CONFIGURATION,
}
"""By Go type: the struct that it embeds, and that one's fields."""

_PERSISTENT_VOLUME_FIELDS = (
    "capacity accessModes claimRef persistentVolumeReclaimPolicy storageClassName mountOptions volumeMode nodeAffinity"
    " volumeAttributesClassName"
)
_REST_EMBEDDED = {
    "Volume": ("VolumeSource", frozenset({"name"})),
    "PersistentVolumeSpec": ("PersistentVolumeSource", frozenset(_PERSISTENT_VOLUME_FIELDS.split())),
    "EphemeralContainer": ("EphemeralContainerCommon", frozenset({"targetContainerName"})),
}
"""By Go type: the struct that it embeds, and the fields that are not of that one."""


def tell_embedded(schema: Schema) -> None:
    """Write into the fields of a struct through which embedded structs the reference reaches them."""
    go_type = schema.go_type.rpartition(".")[2]
    for field in schema.fields.values():
        within = _struct_of(go_type, field.name)
        if within:
            field.go_path = f"{within}.{field.name}"


def _struct_of(go_type: str, field: str) -> str:
    if go_type == "NamedRuleWithOperations":
        rule = "RuleWithOperations"
        return f"{rule}.Rule" if field in _RULE_FIELDS else rule if field == "operations" else ""
    embedded, fields = _EMBEDDED.get(go_type, ("", frozenset()))
    if field in fields:
        return embedded
    embedded, own = _REST_EMBEDDED.get(go_type, ("", frozenset()))
    return "" if field in own else embedded

"""The types of what expressions see of a request (apiserver's BuildRequestType and BuildNamespaceType)."""

from __future__ import annotations

from watchkeeper.cel import types
from watchkeeper.cel.environment import FieldDef, StructDef
from watchkeeper.cel.types import Type

_TEXTS = types.list_of(types.STRING)
_TEXT_MAP = types.map_of(types.STRING, types.STRING)


def _struct(name: str, /, **fields: Type) -> tuple[StructDef, Type]:
    definitions = {field: FieldDef(field, t, holds_null=True) for field, t in fields.items()}
    return StructDef(name, definitions), types.struct(name)


def _texts(names: str) -> dict[str, Type]:
    return dict.fromkeys(names.split(), types.STRING)


_kind, _KIND = _struct("kubernetes.GroupVersionKind", **_texts("group version kind"))
_resource, _RESOURCE = _struct("kubernetes.GroupVersionResource", **_texts("group version resource"))
_user, _USER = _struct(
    "kubernetes.UserInfo",
    **_texts("username uid"),
    groups=_TEXTS,
    extra=types.map_of(types.STRING, _TEXTS),
)
_request, REQUEST = _struct(
    "kubernetes.AdmissionRequest",
    **_texts("subResource requestSubResource name namespace operation"),
    kind=_KIND,
    resource=_RESOURCE,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    userInfo=_USER,
    dryRun=types.BOOL,
    options=types.DYN,
)
_spec, _SPEC = _struct("kubernetes.NamespaceSpec", finalizers=_TEXTS)
_condition, _CONDITION = _struct(
    "kubernetes.NamespaceCondition", **_texts("status type message reason"), lastTransitionTime=types.TIMESTAMP
)
_status, _STATUS = _struct("kubernetes.NamespaceStatus", phase=types.STRING, conditions=types.list_of(_CONDITION))
_metadata, _METADATA = _struct(
    "kubernetes.NamespaceMetadata",
    **_texts("name generateName namespace UID resourceVersion"),
    labels=_TEXT_MAP,
    annotations=_TEXT_MAP,
    creationTimestamp=types.TIMESTAMP,
    deletionGracePeriodSeconds=types.INT,
    deletionTimestamp=types.TIMESTAMP,
    generation=types.INT,
    finalizers=_TEXTS,
)
_namespace, NAMESPACE = _struct("kubernetes.Namespace", metadata=_METADATA, spec=_SPEC, status=_STATUS)

STRUCTS = (_kind, _resource, _user, _request, _spec, _condition, _status, _metadata, _namespace)
"""All structures that `REQUEST` and `NAMESPACE` are made of."""

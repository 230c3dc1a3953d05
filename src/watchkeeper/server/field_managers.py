"""Who keeps track of field ownership for each served resource: which fields can be written where."""

from __future__ import annotations

import functools

from watchkeeper.apis.schema_data import resources
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind
from watchkeeper.runtime.managedfields import FieldManager, Filter, excluding
from watchkeeper.runtime.scheme import Kind, Scheme

_STATUS_RESETS: dict[GroupKind, tuple[str, ...]] = {
    GroupKind("", "Pod"): ("metadata.deletionTimestamp", "metadata.ownerReferences"),
    GroupKind("apps", "Deployment"): ("metadata.labels",),
    GroupKind("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): ("metadata",),
    GroupKind("apiregistration.k8s.io", "APIService"): ("metadata",),
    GroupKind("certificates.k8s.io", "CertificateSigningRequest"): ("status.conditions",),
    GroupKind("flowcontrol.apiserver.k8s.io", "FlowSchema"): ("metadata",),
    GroupKind("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): ("metadata",),
    GroupKind("networking.k8s.io", "ServiceCIDR"): ("metadata",),
    GroupKind("resource.k8s.io", "ResourceClaim"): ("metadata",),
    GroupKind("storage.k8s.io", "VolumeAttachment"): ("metadata",),
}
"""What a write of the status leaves alone besides the spec."""

_RESETS: dict[GroupKind, tuple[str, ...]] = {
    GroupKind("certificates.k8s.io", "CertificateSigningRequest"): ("spec", "status"),
}
"""What an update of the main resource leaves alone, where that is more than the status."""

_PARTS: dict[tuple[GroupKind, str], Filter] = {
    (GroupKind("", "Namespace"), "finalize"): excluding("status"),
    (GroupKind("certificates.k8s.io", "CertificateSigningRequest"), "approval"): excluding(
        "spec", "status.certificate"
    ),
}
"""What a write of another subresource leaves alone. Nothing is said of the Pod's: kube-apiserver records there whatever
is sent, even where it keeps the old value."""


def field_manager_for(scheme: Scheme, kind: Kind, hub: GroupVersionKind, subresource: str) -> FieldManager | None:
    """The field manager of a built-in resource, or of a subresource whose bodies are of a kind; None without metadata.

    `hub` is the hub version of the resource itself.
    """
    if "metadata" not in kind.schema.fields:
        return None
    keep = _filter(kind.gvk, subresource)
    versions = scheme.versions(kind.gvk.group_kind) if keep is not None else ()
    filters = {_api_version(kind.gvk, version): keep for version in versions if keep is not None}
    return FieldManager(scheme, kind, subresource=subresource, filters=filters)


def _api_version(gvk: GroupVersionKind, version: str) -> str:
    return gvk._replace(version=version).api_version


def _filter(gvk: GroupVersionKind, subresource: str) -> Filter | None:
    kind = gvk.group_kind
    if not subresource:
        return excluding(*_RESETS.get(kind, ("status",))) if kind in _kinds_with_status() else None
    if subresource == "status":
        return excluding("spec", *_STATUS_RESETS.get(kind, ()))
    return _PARTS.get((kind, subresource))


@functools.cache
def _kinds_with_status() -> frozenset[GroupKind]:
    return frozenset(
        info.kind.group_kind for info in resources() if any(sub.name == "status" for sub in info.subresources)
    )

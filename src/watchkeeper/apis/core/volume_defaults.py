"""Defaults of volumes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from watchkeeper.apis.images import default_pull_policy
from watchkeeper.apis.quantities import round_resources

Object = dict[str, Any]

FILE_MODE = 0o644
_TOKEN_SECONDS = 3600


def default_volumes(volumes: Sequence[Object]) -> None:
    """A volume without a source is an emptyDir; sources get their file modes and types."""
    for volume in volumes:
        if len(volume) <= ("name" in volume):
            volume["emptyDir"] = {}
            continue
        for field, source in volume.items():
            fill = _FILLERS.get(field)
            if fill is not None:
                fill(source)


def default_claim_spec(spec: Object) -> None:
    """A claim is for a file system unless it says otherwise."""
    if "volumeMode" not in spec:
        spec["volumeMode"] = "Filesystem"
    resources = spec.get("resources")
    if resources:
        round_resources(resources.get("limits"))
        round_resources(resources.get("requests"))


def _mode(source: Object) -> None:
    source.setdefault("defaultMode", FILE_MODE)


def _field_refs(items: Sequence[Object] | None) -> None:
    for item in items or ():
        ref = item.get("fieldRef")
        if ref is not None and not ref.get("apiVersion"):
            ref["apiVersion"] = "v1"


def _downward(source: Object) -> None:
    _mode(source)
    _field_refs(source.get("items"))


def _projected(source: Object) -> None:
    _mode(source)
    for projection in source.get("sources") or ():
        downward = projection.get("downwardAPI")
        if downward is not None:
            _field_refs(downward.get("items"))
        token = projection.get("serviceAccountToken")
        if token is not None:
            token.setdefault("expirationSeconds", _TOKEN_SECONDS)


def _host_path(source: Object) -> None:
    source.setdefault("type", "")


def _ephemeral(source: Object) -> None:
    template = source.get("volumeClaimTemplate")
    if template is not None:
        default_claim_spec(template.setdefault("spec", {}))


def _image(source: Object) -> None:
    if not source.get("pullPolicy"):
        source["pullPolicy"] = default_pull_policy(source.get("reference") or "")


def _azure_disk(source: Object) -> None:
    """All of these can be given and empty."""
    for name, value in (("cachingMode", "ReadWrite"), ("fsType", "ext4"), ("readOnly", False), ("kind", "Shared")):
        source.setdefault(name, value)


def _constants(**values: Any) -> Callable[[Object], None]:
    def fill(source: Object) -> None:
        for name, value in values.items():
            if source.get(name) in (None, ""):
                source[name] = value

    return fill


_FILLERS: dict[str, Callable[[Object], None]] = {
    "configMap": _mode,
    "secret": _mode,
    "projected": _projected,
    "downwardAPI": _downward,
    "hostPath": _host_path,
    "ephemeral": _ephemeral,
    "image": _image,
    "iscsi": _constants(iscsiInterface="default"),
    "rbd": _constants(pool="rbd", user="admin", keyring="/etc/ceph/keyring"),
    "azureDisk": _azure_disk,
    "scaleIO": _constants(storageMode="ThinProvisioned", fsType="xfs"),
}

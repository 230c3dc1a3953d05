"""What manifests of some kinds must leave out besides status and metadata, so that another server takes them.

Each cleaner takes the manifest, to change in place, and the object that it is of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Object = dict[str, Any]
Cleaner = Callable[[Object, Object], None]

_HEADLESS = "None"
_TOKEN_VOLUME = "kube-api-access-"
_BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
_ACCOUNT_UID = "kubernetes.io/service-account.uid"
_TOKEN_DATA = ("ca.crt", "namespace", "token")
_JOB_LABELS = ("batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name", "controller-uid", "job-name")
_NAME_LABEL = "kubernetes.io/metadata.name"


def group_kind(obj: Mapping[str, Any]) -> tuple[str, str]:
    """The group and the kind of an object."""
    return obj.get("apiVersion", "").rpartition("/")[0], obj.get("kind", "")


def _drop(part: Object | None, *names: str) -> None:
    for name in names if part else ():
        assert part is not None
        part.pop(name, None)


def _drop_empty(part: Object, name: str) -> None:
    if not part.get(name):
        part.pop(name, None)


def _service(manifest: Object, _obj: Object) -> None:
    """Addresses and ports that were allocated here; "None" is a wish."""
    spec = manifest.get("spec") or {}
    if spec.get("clusterIP") != _HEADLESS:
        _drop(spec, "clusterIP", "clusterIPs")
    if spec.get("ipFamilyPolicy") == "SingleStack" and spec.get("ipFamilies") == ["IPv4"]:
        _drop(spec, "ipFamilyPolicy", "ipFamilies")
    _drop(spec, "healthCheckNodePort")
    for port in spec.get("ports") or ():
        _drop(port, "nodePort")


def _pod(manifest: Object, _obj: Object) -> None:
    """What the scheduler and admission wrote, and what no new Pod may have."""
    spec = manifest.get("spec") or {}
    _drop(spec, "nodeName", "priority", "preemptionPolicy", "ephemeralContainers")
    if spec.get("runtimeClassName"):
        _drop(spec, "overhead")
    tokens = {v["name"] for v in spec.get("volumes") or () if v.get("name", "").startswith(_TOKEN_VOLUME)}
    if not tokens:
        return
    spec["volumes"] = [volume for volume in spec["volumes"] if volume.get("name") not in tokens]
    _drop_empty(spec, "volumes")
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        mounts = [mount for mount in container.get("volumeMounts") or () if mount.get("name") not in tokens]
        container["volumeMounts"] = mounts
        _drop_empty(container, "volumeMounts")


def _namespace(manifest: Object, _obj: Object) -> None:
    """The server holds a namespace by itself, and labels it."""
    _drop(manifest.get("spec"), "finalizers")
    _drop_empty(manifest, "spec")
    meta = manifest["metadata"]
    _drop(meta.get("labels"), _NAME_LABEL)
    _drop_empty(meta, "labels")


def _service_account(manifest: Object, _obj: Object) -> None:
    """Secrets with tokens, which a controller made."""
    prefix = f"{manifest['metadata'].get('name', '')}-token-"
    secrets = [ref for ref in manifest.get("secrets") or () if not ref.get("name", "").startswith(prefix)]
    manifest["secrets"] = secrets
    _drop_empty(manifest, "secrets")


def _secret(manifest: Object, _obj: Object) -> None:
    """A token is signed for this server only; another writes its own into the Secret."""
    if manifest.get("type") != "kubernetes.io/service-account-token":
        return
    _drop(manifest.get("data"), *_TOKEN_DATA)
    _drop_empty(manifest, "data")
    _drop(manifest["metadata"].get("annotations"), _ACCOUNT_UID)
    _drop_empty(manifest["metadata"], "annotations")


def _volume(manifest: Object, obj: Object) -> None:
    """A claim that a controller chose; one that somebody asked for stays, whatever its uid will be."""
    spec = manifest.get("spec") or {}
    if _is_bound_by_controller(obj):
        _drop(spec, "claimRef")
    _drop(spec.get("claimRef"), "uid", "resourceVersion")


def _claim(manifest: Object, obj: Object) -> None:
    """A volume that a controller chose."""
    if _is_bound_by_controller(obj):
        _drop(manifest.get("spec"), "volumeName")


def _is_bound_by_controller(obj: Object) -> bool:
    return _BOUND_BY_CONTROLLER in ((obj.get("metadata") or {}).get("annotations") or {})


def _job(manifest: Object, _obj: Object) -> None:
    """The selector that is made of the uid, and the labels that it selects."""
    spec = manifest.get("spec") or {}
    if spec.get("manualSelector"):
        return
    _drop(spec, "selector")
    meta = (spec.get("template") or {}).get("metadata") or {}
    _drop(meta.get("labels"), *_JOB_LABELS)
    _drop_empty(meta, "labels")
    _drop(manifest["metadata"].get("labels"), *_JOB_LABELS)
    _drop_empty(manifest["metadata"], "labels")


def _node(manifest: Object, _obj: Object) -> None:
    """Networks that were allocated here."""
    _drop(manifest.get("spec"), "podCIDR", "podCIDRs")
    _drop_empty(manifest, "spec")


def _signing_request(manifest: Object, _obj: Object) -> None:
    """Whoever applies it is who asks."""
    _drop(manifest.get("spec"), "username", "uid", "groups", "extra")


CLEANERS: Mapping[tuple[str, str], Cleaner] = {
    ("", "Namespace"): _namespace,
    ("", "Node"): _node,
    ("", "PersistentVolume"): _volume,
    ("", "PersistentVolumeClaim"): _claim,
    ("", "Pod"): _pod,
    ("", "Secret"): _secret,
    ("", "Service"): _service,
    ("", "ServiceAccount"): _service_account,
    ("batch", "Job"): _job,
    ("certificates.k8s.io", "CertificateSigningRequest"): _signing_request,
}
"""By group and kind."""

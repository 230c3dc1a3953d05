"""What the reference's default admission plugins set on new objects other than Pods."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.refusal import forbidden
from watchkeeper.apis.quantities import compare
from watchkeeper.meta.gvk import GroupResource

Object = dict[str, Any]

ListObjects = Callable[[], Awaitable[list[Object]]]
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_CREATE = frozenset({Operation.CREATE})
_CLAIMS = GroupResource("", "persistentvolumeclaims")


class StorageObjectInUseProtection(BasePlugin):
    """Claims, volumes and classes of their attributes carry a finalizer that keeps them while they are used."""

    name = "StorageObjectInUseProtection"
    deep = False
    operations = _CREATE
    FINALIZERS = {
        _CLAIMS: "kubernetes.io/pvc-protection",
        GroupResource("", "persistentvolumes"): "kubernetes.io/pv-protection",
        GroupResource("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
    }
    resources = frozenset(FINALIZERS)

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Add the finalizer, once."""
        finalizer = self.FINALIZERS.get(attributes.resource.group_resource)
        if finalizer is None or attributes.subresource:
            return None
        assert attributes.obj is not None
        meta = attributes.obj["metadata"]
        finalizers = meta.get("finalizers") or []
        if finalizer not in finalizers:
            meta["finalizers"] = [*finalizers, finalizer]
        return None


class TaintNodesByCondition(BasePlugin):
    """A new Node is tainted until somebody reports it ready."""

    name = "TaintNodesByCondition"
    deep = False
    operations = _CREATE
    resources = frozenset({GroupResource("", "nodes")})
    TAINT = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Add the taint, once."""
        if attributes.resource.resource != "nodes" or attributes.resource.group or attributes.subresource:
            return None
        assert attributes.obj is not None
        spec = attributes.obj.setdefault("spec", {})
        taints = spec.get("taints") or []
        if not any(t.get("key") == self.TAINT["key"] and t.get("effect") == self.TAINT["effect"] for t in taints):
            spec["taints"] = [*taints, dict(self.TAINT)]
        return None


class DefaultStorageClass(BasePlugin):
    """A claim that names no class gets the default one."""

    name = "DefaultStorageClass"
    deep = False
    operations = _CREATE
    resources = frozenset({_CLAIMS})
    ANNOTATIONS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")

    def __init__(self, storage_classes: ListObjects) -> None:
        self._storage_classes = storage_classes

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Look for the default only when the claim names none."""
        if attributes.resource.resource != "persistentvolumeclaims" or attributes.subresource:
            return None
        assert attributes.obj is not None
        spec = attributes.obj["spec"]
        annotations = attributes.obj["metadata"].get("annotations") or {}
        if spec.get("storageClassName") is not None or _OLD_CLASS in annotations:
            return None
        return self._choose(spec)

    async def _choose(self, spec: Object) -> None:
        defaults = [c for c in await self._storage_classes() if is_default(c, *self.ANNOTATIONS)]
        if defaults:
            spec["storageClassName"] = newest(defaults)["metadata"]["name"]


class DefaultIngressClass(BasePlugin):
    """An Ingress that names no class gets the default one."""

    name = "DefaultIngressClass"
    deep = False
    operations = _CREATE
    resources = frozenset({GroupResource("networking.k8s.io", "ingresses")})
    ANNOTATION = "ingressclass.kubernetes.io/is-default-class"

    def __init__(self, ingress_classes: ListObjects) -> None:
        self._ingress_classes = ingress_classes

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Look for the default only when the Ingress names none."""
        if attributes.resource.resource != "ingresses" or attributes.subresource:
            return None
        assert attributes.obj is not None
        spec = attributes.obj.setdefault("spec", {})
        annotations = attributes.obj["metadata"].get("annotations") or {}
        if spec.get("ingressClassName") is not None or "kubernetes.io/ingress.class" in annotations:
            return None
        return self._choose(attributes, spec)

    async def _choose(self, attributes: Attributes, spec: Object) -> None:
        defaults = [c for c in await self._ingress_classes() if is_default(c, self.ANNOTATION)]
        if defaults:
            spec["ingressClassName"] = newest(defaults)["metadata"]["name"]


class PersistentVolumeClaimResize(BasePlugin):
    """A bound claim grows only if its class allows that."""

    name = "PersistentVolumeClaimResize"
    deep = False
    operations = frozenset({Operation.UPDATE})
    resources = frozenset({_CLAIMS})

    def __init__(self, storage_classes: ListObjects) -> None:
        self._storage_classes = storage_classes

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Ask about the class only when the claim grows."""
        if attributes.resource.resource != "persistentvolumeclaims" or attributes.subresource:
            return None
        new, old = attributes.obj, attributes.old
        if new is None or old is None:
            return None
        if compare(_requested(new), _requested(old)) <= 0:
            return None
        if ((old.get("status") or {}).get("phase")) != "Bound":
            raise forbidden(attributes, "Only bound persistent volume claims can be expanded")
        return self._check(attributes, _class_of(new), _class_of(old))

    async def _check(self, attributes: Attributes, class_name: str, old_class_name: str) -> None:
        if class_name and class_name == old_class_name:
            for found in await self._storage_classes():
                if found["metadata"]["name"] == class_name and found.get("allowVolumeExpansion"):
                    return
        why = (
            "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must"
            " support resize"
        )
        raise forbidden(attributes, why)


def _requested(claim: Object) -> str:
    size: str = ((claim["spec"].get("resources") or {}).get("requests") or {}).get("storage") or "0"
    return size


def _class_of(claim: Object) -> str:
    name: str | None = (claim["metadata"].get("annotations") or {}).get(_OLD_CLASS)
    return name if name is not None else claim["spec"].get("storageClassName") or ""


def is_default(obj: Object, *annotations: str) -> bool:
    """Whether one of the annotations marks a class as the default."""
    given = obj["metadata"].get("annotations") or {}
    return any(given.get(annotation) == "true" for annotation in annotations)


def newest(classes: list[Object]) -> Object:
    """Of several defaults the one created last, then by name."""
    ordered = sorted(classes, key=lambda c: c["metadata"]["name"])
    return max(ordered, key=lambda c: c["metadata"].get("creationTimestamp") or "")

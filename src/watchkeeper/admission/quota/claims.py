"""What PersistentVolumeClaims use of quotas."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.quota.amounts import ONE, Amounts
from watchkeeper.admission.quota.evaluator import Object, ScopeSelector, count_name
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.runtime.quantity import Quantity

_CLAIMS = GroupResource("", "persistentvolumeclaims")
_COUNT = count_name(_CLAIMS)
_NAMES = ("persistentvolumeclaims", "requests.storage")
_BY_CLASS = ".storageclass.storage.k8s.io/"
_SUFFIXES = tuple(_BY_CLASS + name for name in _NAMES)
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


class ClaimEvaluator:
    """Counts claims and the storage that they ask for, in total and by storage class."""

    resource = _CLAIMS

    def handles(self, attributes: Attributes) -> bool:
        """A claim may grow."""
        return attributes.operation in (Operation.CREATE, Operation.UPDATE)

    def matching(self, names: Iterable[str]) -> list[str]:
        """Counts and storage."""
        return [name for name in names if name == _COUNT or name in _NAMES or name.endswith(_SUFFIXES)]

    def missing(self, required: Collection[str], obj: Object) -> str:
        """Everything can be counted."""
        return ""

    def usage(self, obj: Object) -> Amounts:
        """One claim, and the storage asked for or already allocated, whichever is more."""
        found: Amounts = {_COUNT: ONE, "persistentvolumeclaims": ONE}
        storage = _storage(obj)
        if storage is not None:
            found["requests.storage"] = storage
        spec = obj.get("spec") or {}
        annotations = obj["metadata"].get("annotations") or {}
        storage_class = annotations.get(_CLASS_ANNOTATION, spec.get("storageClassName") or "")
        if storage_class:
            found[f"{storage_class}{_BY_CLASS}persistentvolumeclaims"] = ONE
            if storage is not None:
                found[f"{storage_class}{_BY_CLASS}requests.storage"] = storage
        return found

    def in_scope(self, selector: ScopeSelector, obj: Object) -> bool:
        """By the class of volume attributes: the one asked for, the one there is, or the one it is changing to."""
        if selector["scopeName"] != "VolumeAttributesClass":
            return False
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        target = (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName")
        names = {spec.get("volumeAttributesClassName"), status.get("currentVolumeAttributesClassName"), target}
        names -= {None, ""}
        values = set(selector.get("values") or ())
        match selector.get("operator") or "Exists":
            case "Exists":
                return bool(names)
            case "DoesNotExist":
                return not names
            case "In":
                return bool(names & values)
        return not names & values


def _storage(claim: Object) -> Quantity | None:
    asked = (((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}).get("storage")
    if asked is None:
        return None
    found = _whole(Quantity.parse(asked))
    allocated = ((claim.get("status") or {}).get("allocatedResources") or {}).get("storage")
    if allocated is not None and Quantity.parse(allocated) > found:
        return _whole(Quantity.parse(allocated))
    return found


def _whole(quantity: Quantity) -> Quantity:
    return quantity if quantity.is_integer else Quantity.parse(str(quantity.value()))

"""What ResourceClaims use of quotas."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.quota.amounts import ONE, Amounts
from watchkeeper.admission.quota.evaluator import Object, ScopeSelector, count_name
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.runtime.quantity import Quantity

_CLAIMS = GroupResource("resource.k8s.io", "resourceclaims")
_COUNT = count_name(_CLAIMS)
_BY_CLASS = ".deviceclass.resource.k8s.io/devices"
_MOST_DEVICES = 32
"""What a request for all devices counts as: no more of them can be allocated."""


class DeviceClaimEvaluator:
    """Counts claims, and by device class the devices that they may get."""

    resource = _CLAIMS

    def handles(self, attributes: Attributes) -> bool:
        """Claims themselves, not their status."""
        return attributes.operation in (Operation.CREATE, Operation.UPDATE) and not attributes.subresource

    def matching(self, names: Iterable[str]) -> list[str]:
        """The count, and devices of any class."""
        return [name for name in names if name == _COUNT or name.endswith(_BY_CLASS)]

    def missing(self, required: Collection[str], obj: Object) -> str:
        """Everything can be counted."""
        return ""

    def usage(self, obj: Object) -> Amounts:
        """One claim, and for each request the most devices of each class that it may get."""
        totals: dict[str, int] = {}
        for request in ((obj.get("spec") or {}).get("devices") or {}).get("requests") or ():
            exactly = request.get("exactly")
            choices = request.get("firstAvailable") or ([exactly] if exactly is not None else [])
            for device_class, most in _most(choices).items():
                totals[device_class] = totals.get(device_class, 0) + most
        found: Amounts = {_COUNT: ONE}
        found.update((name + _BY_CLASS, Quantity.parse(str(total))) for name, total in totals.items())
        return found

    def in_scope(self, selector: ScopeSelector, obj: Object) -> bool:
        """Claims are in no scope."""
        return False


def _most(choices: Sequence[Object]) -> dict[str, int]:
    """By class, the most devices that one of the choices asks for."""
    found: dict[str, int] = {}
    for choice in choices:
        device_class: str = choice.get("deviceClassName") or ""
        found[device_class] = max(found.get(device_class, 0), _devices(choice))
    return found


def _devices(choice: Object) -> int:
    mode = choice.get("allocationMode")
    if mode == "All":
        return _MOST_DEVICES
    count: int = choice.get("count") or 0
    return count if mode == "ExactCount" else 0

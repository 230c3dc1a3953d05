"""CSIDrivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.storage.classes import GROUP
from watchkeeper.apis.validation.enums import validate_optional_enum
from watchkeeper.apis.validation.metadata import validate_immutable
from watchkeeper.meta.field import FieldError, duplicate, invalid, not_supported, required
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

_MODES = ("Persistent", "Ephemeral")
_GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
_DEFAULTS: tuple[tuple[str, Any], ...] = (
    ("attachRequired", True),
    ("podInfoOnMount", False),
    ("storageCapacity", False),
    ("fsGroupPolicy", "ReadWriteOnceWithFSType"),
    ("requiresRepublish", False),
    ("seLinuxMount", False),
)
_FLAGS = (("attachRequired", "attachedRequired"), ("podInfoOnMount", "podInfoOnMount"))
"""Flags that must be set, and what error paths call them."""
_FIXED = (
    ("attachRequired", "attachedRequired"),
    ("volumeLifecycleModes", "volumeLifecycleModes"),
)
_MIN_TOKEN_SECONDS = 600
_MAX_TOKEN_SECONDS = 1 << 32
_MIN_PERIOD = 10
_GATED = "preventPodSchedulingIfMissing"
"""Of a feature that is off in Kubernetes 1.36."""
_TOKENS_SHOW = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


def default_driver(driver: Object) -> None:
    """Fill in what a driver does not say about itself."""
    spec = driver.setdefault("spec", {})
    for name, value in _DEFAULTS:
        if spec.get(name) is None:
            spec[name] = value
    if not spec.get("volumeLifecycleModes"):
        spec["volumeLifecycleModes"] = ["Persistent"]


def _validate(driver: Object) -> list[FieldError]:
    spec = driver.get("spec") or {}
    errors: list[FieldError] = []
    for name, shown in (*_FLAGS, ("storageCapacity", "storageCapacity")):
        if spec.get(name) is None:
            errors.append(required(f"spec.{shown}"))
    errors += validate_optional_enum(spec.get("fsGroupPolicy"), "spec.fsGroupPolicy", _GROUP_POLICIES)
    errors += _token_errors(spec.get("tokenRequests") or ())
    modes = spec.get("volumeLifecycleModes") or ()
    errors += [not_supported("spec.volumeLifecycleModes", mode, _MODES) for mode in modes if mode not in _MODES]
    if spec.get("seLinuxMount") is None:
        errors.append(required("spec.seLinuxMount"))
    period = spec.get("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < _MIN_PERIOD:
        path = "spec.nodeAllocatableUpdatePeriodSeconds"
        errors.append(invalid(path, period, f"must be greater than or equal to {_MIN_PERIOD} seconds"))
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not spec.get("tokenRequests"):
        why = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        errors.append(invalid("spec.serviceAccountTokenInSecrets", in_secrets, why))
    return errors


def _token_errors(requests: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, request in enumerate(requests):
        path, audience = f"spec.tokenRequests[{i}]", request.get("audience", "")
        if audience in seen:
            errors.append(duplicate(f"{path}.audience", audience))
            continue
        seen.add(audience)
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < _MIN_TOKEN_SECONDS:
            why = "may not specify a duration less than 10 minutes"
            errors.append(invalid(f"{path}.expirationSeconds", seconds, why))
        if seconds is not None and seconds > _MAX_TOKEN_SECONDS:
            why = "may not specify a duration larger than 2^32 seconds"
            errors.append(invalid(f"{path}.expirationSeconds", seconds, why))
    return errors


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    spec, was = new.get("spec") or {}, old.get("spec") or {}
    errors = _validate(new)
    for name, shown in _FIXED:
        errors += validate_immutable(spec.get(name), was.get(name), f"spec.{shown}")
    return errors


def _prepare_for_create(driver: Object) -> None:
    driver["spec"].pop(_GATED, None)


def _prepare_for_update(new: Object, old: Object) -> None:
    """A new driver has no generation: the first change of its spec makes 1."""
    spec, was = new["spec"], old.get("spec") or {}
    if was.get(_GATED) is None:
        spec.pop(_GATED, None)
    if spec != was:
        new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1


def _warnings(new: Object, old: Object | None = None) -> list[str]:
    """New tokens should not travel among a volume's attributes."""
    requests = new["spec"].get("tokenRequests")
    same = old is not None and requests == (old.get("spec") or {}).get("tokenRequests")
    return [_TOKENS_SHOW] if requests and not same and new["spec"].get("serviceAccountTokenInSecrets") is None else []


def _cells(driver: Object, now: float) -> list[Any]:
    spec = driver.get("spec") or {}
    tokens = spec.get("tokenRequests")
    return [
        printing.name_of(driver),
        spec.get("attachRequired", True),
        spec.get("podInfoOnMount", False),
        spec.get("storageCapacity", False),
        printing.UNSET if tokens is None else ",".join(token.get("audience", "") for token in tokens),
        spec.get("requiresRepublish", False),
        ",".join(spec.get("volumeLifecycleModes") or ()) or printing.NONE,
        printing.age(driver, now),
    ]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, "CSIDriver"),
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        allow_unconditional_update=False,
        warnings_on_create=_warnings,
        warnings_on_update=_warnings,
        has_status=False,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("AttachRequired", "boolean", "Whether volumes must be attached to nodes."),
                Column("PodInfoOnMount", "boolean", "Whether it wants to know about pods."),
                Column("StorageCapacity", "boolean", "Whether the scheduler is to look at capacity."),
                Column("TokenRequests", "string", "The audiences of the tokens it wants."),
                Column("RequiresRepublish", "boolean", "Whether volumes are published again and again."),
                Column("Modes", "string", "What lives its volumes can have."),
                printing.AGE,
            ),
            cells=_cells,
        ),
    )
]
DEFAULTS = {GroupVersionKind(GROUP, "v1", "CSIDriver"): default_driver}

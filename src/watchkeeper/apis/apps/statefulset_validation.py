"""The rules of StatefulSets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import workloads
from watchkeeper.apis.apps.rollout import validate_rolling_stateful_set
from watchkeeper.apis.core.claim_validation import validate_claim_spec
from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.core.pod_template_validation import (
    template_options,
    validate_template,
    validate_template_metadata,
)
from watchkeeper.apis.semantic import same
from watchkeeper.apis.validation.enums import validate_optional_enum
from watchkeeper.apis.validation.internal_form import InternalForm, Reference, internal_form
from watchkeeper.apis.validation.metadata import validate_builtin_object_meta_update
from watchkeeper.apis.validation.names import is_dns1123_label
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.meta.field import FieldError, JsonText, forbidden, in_declared_order, invalid, required

Object = dict[str, Any]
Spec = Mapping[str, Any]

_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_COUNTS = (
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
)
_OF_PODS = frozenset(("hostname", "subdomain"))
"""What the controller gives each pod itself, whatever the template says."""
_ROLLING = Reference(partition=("Partition", 0), maxUnavailable=("MaxUnavailable", None))
_STRATEGY: InternalForm = {"type": ("Type", ""), "rollingUpdate": ("RollingUpdate", _ROLLING)}
_LIMITED_COUNTS = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")


def _spec_errors(spec: Spec, options: PodOptions, *, is_new: bool, check_template: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    policy = spec.get("podManagementPolicy") or ""
    if not policy:
        errors.append(required("spec.podManagementPolicy"))
    elif policy not in ("OrderedReady", "Parallel"):
        errors.append(invalid("spec.podManagementPolicy", JsonText(policy), "must be 'OrderedReady' or 'Parallel'"))
    errors += _strategy_errors(spec.get("updateStrategy") or {})
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    if retention is not None:
        at = "spec.persistentVolumeClaimRetentionPolicy"
        for when in ("whenDeleted", "whenScaled"):
            errors += validate_optional_enum(retention.get(when, ""), f"{at}.{when}", ("Retain", "Delete"))
    if is_new:
        errors += _claim_errors(spec)
    errors += validate_nonnegative(spec.get("replicas"), "spec.replicas")
    errors += validate_nonnegative(spec.get("minReadySeconds"), "spec.minReadySeconds")
    errors += validate_nonnegative((spec.get("ordinals") or {}).get("start"), "spec.ordinals.start")
    service = spec.get("serviceName")
    if service and is_new:
        errors += [invalid("spec.serviceName", service, text) for text in is_dns1123_label(service)]
    selector, template = spec.get("selector"), spec.get("template") or {}
    errors += workloads.validate_strict_selector(selector, "spec.selector", "statefulset")
    if not workloads.is_usable_selector(selector):
        errors.append(invalid("spec.selector", in_declared_order(selector), ""))
    else:
        errors += workloads.validate_selector_matches(selector, template, "spec.template")
        if check_template:
            errors += validate_template(_as_in_pods(template, spec), "spec.template", options)
        errors += validate_template_metadata(template, "spec.template", options)
    return errors + workloads.validate_always_restarting(template, "spec.template", "StatefulSet")


def _strategy_errors(strategy: Spec) -> list[FieldError]:
    path = "spec.updateStrategy"
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if not kind:
        return [required(path)]
    if kind == "RollingUpdate":
        return [] if rolling is None else validate_rolling_stateful_set(rolling, f"{path}.rollingUpdate")
    if kind == "OnDelete":
        if rolling is None:
            return []
        shown = internal_form(rolling, _ROLLING)
        return [invalid(f"{path}.rollingUpdate", shown, "only allowed for updateStrategy 'RollingUpdate'")]
    return [invalid(path, internal_form(strategy, _STRATEGY), "must be 'RollingUpdate' or 'OnDelete'")]


def _as_in_pods(template: Spec, spec: Spec) -> Spec:
    """The template as its pods will be: each claim template is a volume of its name."""
    if _OF_PODS & (template.get("spec") or {}).keys():
        pod = {name: value for name, value in template["spec"].items() if name not in _OF_PODS}
        template = {**template, "spec": pod}
    names = [(claim.get("metadata") or {}).get("name") or "" for claim in spec.get("volumeClaimTemplates") or ()]
    if not names:
        return template
    pod = template.get("spec") or {}
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names)]
    volumes += [volume for volume in pod.get("volumes") or () if volume.get("name") not in names]
    return {**template, "spec": {**pod, "volumes": volumes}}


def _claim_errors(spec: Spec) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        errors += validate_claim_spec(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{i}].spec")
    return errors


def validate_stateful_set(stateful_set: Object) -> list[FieldError]:
    """What is wrong with a new StatefulSet."""
    spec = stateful_set.get("spec") or {}
    return _spec_errors(spec, template_options(None), is_new=True, check_template=True)


def validate_stateful_set_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with a change: few fields of the spec may change, and what was invalid before may stay so."""
    spec, old_spec = new.get("spec") or {}, old.get("spec") or {}
    options = template_options(old_spec.get("template") or {})
    was_valid = not _spec_errors(old_spec, options, is_new=False, check_template=True)
    errors = _spec_errors(spec, options, is_new=False, check_template=was_valid)
    fixed, was_fixed = ({k: v for k, v in each.items() if k not in _MUTABLE} for each in (spec, old_spec))
    if not same(fixed, was_fixed, "apps.v1.StatefulSetSpec"):
        names = ", ".join(f"'{name}'" for name in _MUTABLE[:-1])
        text = f"updates to statefulset spec for fields other than {names} and '{_MUTABLE[-1]}' are forbidden"
        errors.append(forbidden("spec", text))
    return errors


def validate_stateful_set_status_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with a new status, and with the metadata that came with it."""
    status = new.get("status") or {}
    errors = workloads.validate_counts(status, _COUNTS, "status")
    errors += workloads.validate_replica_counts(status, _LIMITED_COUNTS, "status", ready="status.readyReplicas")
    errors += validate_builtin_object_meta_update(new["metadata"], old["metadata"])
    return errors + workloads.validate_collision_count(new, old)

"""The rules of Jobs: new ones, and changes of their spec."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis import workloads
from watchkeeper.apis.batch.job_policy_validation import FAILURE_POLICY, SUCCESS_POLICY
from watchkeeper.apis.batch.job_spec_validation import validate_job_spec
from watchkeeper.apis.batch.job_status_validation import is_true
from watchkeeper.apis.core.go_form import go_form
from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.core.pod_template_validation import template_options
from watchkeeper.apis.semantic import same
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.metadata import (
    IMMUTABLE,
    validate_builtin_object_meta,
    validate_builtin_object_meta_update,
    validate_immutable,
)
from watchkeeper.apis.validation.names import is_dns1123_label
from watchkeeper.apis.validation.selectors import has_invalid_values, selector_matches, validate_label_selector
from watchkeeper.meta.field import FieldError, in_declared_order, in_key_order, invalid, required
from watchkeeper.runtime.with_empties import equal_as_stored

Object = Mapping[str, Any]

OLD_UID, OLD_NAME = "controller-uid", "job-name"
UID, NAME = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
_IMMUTABLE: Mapping[str, InternalForm | None] = {
    "completionMode": None,
    "podFailurePolicy": FAILURE_POLICY,
    "backoffLimitPerIndex": None,
    "managedBy": None,
    "successPolicy": SUCCESS_POLICY,
}
"""Fields that never change, with how errors show those that have parts."""


def validate_job(job: Object) -> list[FieldError]:
    """What is wrong with a new Job, besides its metadata."""
    return _job_errors(job, template_options(None), with_new_labels=True, allow_values=False)


def validate_job_update(new: Object, old: Object) -> list[FieldError]:
    """As the reference, which judges the new state as a new Job, and then once more together with the change."""
    spec, old_spec = new.get("spec") or {}, old.get("spec") or {}
    old_template = old_spec.get("template") or {}
    options = template_options(old_template)
    labels = (old_template.get("metadata") or {}).get("labels") or {}
    allow_values = has_invalid_values(old_spec.get("selector"))
    errors = validate_builtin_object_meta(new["metadata"], namespaced=True)
    errors += _job_errors(new, options, with_new_labels=UID in labels and NAME in labels, allow_values=allow_values)
    errors += validate_builtin_object_meta_update(new["metadata"], old["metadata"])
    errors += _spec_errors(spec, options, allow_values=allow_values)
    errors += _completion_changes(spec, old_spec)
    selector = spec.get("selector")
    if selector is None and old_spec.get("selector") is not None:
        errors.append(invalid("spec.selector", None, IMMUTABLE))
    else:
        errors += validate_immutable(selector, old_spec.get("selector"), "spec.selector")
    template = spec.get("template") or {}
    if _is_at_rest(old):
        kept = _with_changeable_parts_of(template, old_template)
        if not same(template.get("spec"), kept.get("spec"), "core.v1.PodSpec"):
            errors.append(invalid("spec.template.spec", go_form(template.get("spec"), "PodSpec"), IMMUTABLE))
    elif not same(template, old_template, "core.v1.PodTemplateSpec"):
        errors.append(invalid("spec.template", go_form(template, "PodTemplateSpec"), IMMUTABLE))
    for name, form in _IMMUTABLE.items():
        now, before = spec.get(name), old_spec.get(name)
        if form is None or now is None:
            errors += validate_immutable(now, before, f"spec.{name}")
        elif not equal_as_stored(now, before):
            errors.append(invalid(f"spec.{name}", internal_form(now, form), IMMUTABLE))
    return errors


def _job_errors(job: Object, options: PodOptions, *, with_new_labels: bool, allow_values: bool) -> list[FieldError]:
    spec = job.get("spec") or {}
    errors = _generated_errors(job, spec, with_new_labels=with_new_labels)
    errors += _spec_errors(spec, options, allow_values=allow_values)
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        name = job["metadata"].get("name") or ""
        last = f"{name}-{completions - 1}"
        if is_dns1123_label(last):
            text = f"will not able to create pod with invalid DNS label: {last}"
            errors.append(invalid("metadata.name", name, text))
    return errors


def _spec_errors(spec: Object, options: PodOptions, *, allow_values: bool) -> list[FieldError]:
    errors = validate_job_spec(spec, "spec", options)
    selector = spec.get("selector")
    if selector is None:
        errors.append(required("spec.selector"))
    else:
        errors += validate_label_selector(selector, "spec.selector", allow_invalid_values=allow_values)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if workloads.is_usable_selector(selector) and not selector_matches(selector, labels or {}):
        errors.append(workloads.mismatch(labels, "spec.template"))
    return errors


def _generated_errors(job: Object, spec: Object, *, with_new_labels: bool) -> list[FieldError]:
    """Unless the selector is the user's own, it and the template's labels must be those that name this Job."""
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return []
    uid, name = job["metadata"].get("uid") or "", job["metadata"].get("name") or ""
    errors = [] if uid else [required("metadata.uid")]
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    expected = {OLD_UID: uid, OLD_NAME: name}
    if with_new_labels:
        expected |= {UID: uid, NAME: name}
    for key, value in expected.items():
        errors += _label_errors(labels, key, value)
    if workloads.is_usable_selector(selector) and not selector_matches(selector, expected):
        errors.append(invalid("spec.selector", in_declared_order(selector), "`selector` not auto-generated"))
    return errors


def _label_errors(labels: Mapping[str, str] | None, key: str, expected: str) -> list[FieldError]:
    path = f"spec.template.metadata.labels[{key}]"
    if key not in (labels or {}):
        return [required(path, f"must be '{expected}'")]
    if (labels or {})[key] != expected:
        return [invalid(path, in_key_order(labels), f"must be '{expected}'")]
    return []


def _completion_changes(spec: Object, old: Object) -> list[FieldError]:
    """Completions of an indexed Job change together with its parallelism."""
    now, before = spec.get("completions"), old.get("completions")
    if spec.get("completionMode") != "Indexed":
        return validate_immutable(now, before, "spec.completions")
    if now == before or now is None or now == spec.get("parallelism"):
        return []
    return [invalid("spec.completions", now, "can only be modified in tandem with spec.parallelism")]


def _is_at_rest(job: Object) -> bool:
    """Whether a Job is suspended and has no pods: it did not start yet, or all of them are gone."""
    status = job.get("status") or {}
    if not (job.get("spec") or {}).get("suspend"):
        return False
    return (not status.get("startTime") or is_true(status, "Suspended")) and not status.get("active")


def _with_changeable_parts_of(template: Object, old: Object) -> dict[str, Any]:
    """The old template with all that may change at rest as in the new one: where pods go, and what they get."""
    meta = _take(old.get("metadata") or {}, template.get("metadata") or {}, ("annotations", "labels"))
    new_spec, old_spec = template.get("spec") or {}, old.get("spec") or {}
    spec = _take(old_spec, new_spec, ("nodeSelector", "tolerations", "schedulingGates"))
    affinity, old_affinity = new_spec.get("affinity"), old_spec.get("affinity")
    merged = _take(old_affinity or {}, affinity or {}, ("nodeAffinity",))
    if affinity is not None or merged:
        spec["affinity"] = merged
    else:
        spec.pop("affinity", None)
    for kind in ("containers", "initContainers"):
        containers, before = new_spec.get(kind) or (), old_spec.get(kind) or ()
        if before and len(containers) == len(before):
            spec[kind] = _with_resources(containers, before)
    return {**old, "metadata": meta, "spec": spec}


def _with_resources(containers: Sequence[Object], before: Sequence[Object]) -> list[dict[str, Any]]:
    return [_take(old, new, ("resources",)) for new, old in zip(containers, before, strict=True)]


def _take(target: Object, source: Object, fields: Sequence[str]) -> dict[str, Any]:
    taken = dict(target)
    for field in fields:
        if field in source:
            taken[field] = source[field]
        else:
            taken.pop(field, None)
    return taken

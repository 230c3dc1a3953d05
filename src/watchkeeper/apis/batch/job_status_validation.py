"""The rules of a Job's status. Most hold only where the update changed what they are about.

External controllers may run Jobs (`spec.managedBy`), so these rules keep what clients rely on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.batch.indexes import IndexesError, count_indexes, first_overlap
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.meta.field import OMIT_VALUE, FieldError, duplicate, invalid, required

Object = Mapping[str, Any]

_CONDITIONS = "status.conditions"
_UNCOUNTED: InternalForm = {"succeeded": ("Succeeded", None), "failed": ("Failed", None)}


def is_true(status: Object, kind: str) -> bool:
    """Whether a Job has a condition of a type, and it is true."""
    return _has(status, kind, "True")


def _has(status: Object, kind: str, value: str) -> bool:
    return any(c.get("type") == kind and c.get("status") == value for c in status.get("conditions") or ())


def is_finished(status: Object) -> bool:
    """Whether a Job is complete or has failed."""
    return is_true(status, "Complete") or is_true(status, "Failed")


def validate_job_status_update(new: Object, old: Object) -> list[FieldError]:
    """What is wrong with the new status of a Job, or with the change to it."""
    spec = new.get("spec") or {}
    status, before = new.get("status") or {}, old.get("status") or {}
    changes = _Changes(status, before)
    errors = _count_errors(status)
    errors += _completion_errors(status, changes)
    errors += _finished_errors(spec, status, changes)
    errors += _index_errors(spec, status, changes)
    errors += _pod_count_errors(status, changes)
    errors += _success_errors(spec, status)
    return errors + _transition_errors(spec, status, before)


class _Changes:
    """Which of some properties an update changed."""

    def __init__(self, status: Object, before: Object) -> None:
        self._status = status
        self._before = before

    def fields(self, *names: str) -> bool:
        """Whether one of some fields changed; absent ones are as empty ones."""
        return any((self._status.get(n) or None) != (self._before.get(n) or None) for n in names)

    def given(self, name: str) -> bool:
        """Whether a field changed, which may be given and empty."""
        return bool(self._status.get(name) != self._before.get(name))

    def conditions(self, *kinds: str) -> bool:
        """Whether one of some conditions became true, or ceased to be."""
        return any(is_true(self._status, k) != is_true(self._before, k) for k in kinds)

    def finished(self) -> bool:
        """Whether the Job finished, or ceased to be finished."""
        return is_finished(self._status) != is_finished(self._before)


def _count_errors(status: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in ("active", "succeeded", "failed", "ready", "terminating"):
        errors += validate_nonnegative(status.get(name), f"status.{name}")
    uncounted = status.get("uncountedTerminatedPods") or {}
    seen = set()
    for kind in ("succeeded", "failed"):
        for i, uid in enumerate(uncounted.get(kind) or ()):
            path = f"status.uncountedTerminatedPods.{kind}[{i}]"
            if not uid:
                errors.append(invalid(path, uid, "must not be empty"))
            elif uid in seen:
                errors.append(duplicate(path, uid))
            seen.add(uid)
    return errors


def _wrong_conditions(text: str) -> FieldError:
    return invalid(_CONDITIONS, OMIT_VALUE, text)


def _completion_errors(status: Object, changes: _Changes) -> list[FieldError]:
    complete, failed = is_true(status, "Complete"), is_true(status, "Failed")
    failing = is_true(status, "FailureTarget")
    start, end = status.get("startTime"), status.get("completionTime")
    errors: list[FieldError] = []
    if complete and failed and changes.conditions("Complete", "Failed"):
        errors.append(_wrong_conditions("cannot set Complete=True and Failed=true conditions"))
    if complete and failing and changes.conditions("Complete", "FailureTarget"):
        errors.append(_wrong_conditions("cannot set Complete=True and FailureTarget=true conditions"))
    path = "status.completionTime"
    if changes.conditions("Complete") or changes.fields("completionTime"):
        if end and not complete:
            text = "cannot set completionTime when there is no Complete=True condition"
            errors.append(invalid(path, end, text))
        if complete and not end:
            errors.append(required(path, "completionTime is required for Complete jobs"))
    if start and end and end < start and changes.fields("startTime", "completionTime"):
        errors.append(invalid(path, end, "must be equal to or after `startTime`"))
    changed = changes.conditions("Failed") or changes.given("failedIndexes")
    if failed and not failing and changed:
        errors.append(_wrong_conditions("cannot set Failed=True condition without the FailureTarget=true condition"))
    if complete and not is_true(status, "SuccessCriteriaMet") and changes.conditions("Complete", "SuccessCriteriaMet"):
        text = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        errors.append(_wrong_conditions(text))
    return errors


def _finished_errors(spec: Object, status: Object, changes: _Changes) -> list[FieldError]:
    if not is_finished(status):
        return []
    errors: list[FieldError] = []
    active = status.get("active") or 0
    if active > 0 and (changes.finished() or changes.fields("active")):
        errors.append(invalid("status.active", active, "active>0 is invalid for finished job"))
    never_starts = spec.get("suspend") and spec.get("completions") == 0
    if not status.get("startTime") and not never_starts and (changes.finished() or changes.fields("startTime")):
        errors.append(required("status.startTime", "startTime is required for finished job"))
    uncounted = status.get("uncountedTerminatedPods") or {}
    if (uncounted.get("failed") or uncounted.get("succeeded")) and (
        changes.finished() or changes.fields("uncountedTerminatedPods")
    ):
        shown = internal_form(uncounted, _UNCOUNTED)
        errors.append(invalid("status.uncountedTerminatedPods", shown, "must be empty for finished job"))
    return errors


def _index_errors(spec: Object, status: Object, changes: _Changes) -> list[FieldError]:
    completions, completed = spec.get("completions"), status.get("completedIndexes") or ""
    failed, per_index = status.get("failedIndexes"), spec.get("backoffLimitPerIndex") is not None
    completed_changed, failed_changed = changes.fields("completedIndexes"), changes.given("failedIndexes")
    errors: list[FieldError] = []

    def check(name: str, text: str) -> None:
        try:
            count_indexes(text, completions or 0)
        except IndexesError as error:
            errors.append(invalid(f"status.{name}", text, f"error parsing {name}: {error}"))

    if completed_changed and completions is not None:
        check("completedIndexes", completed)
    if failed_changed and completions is not None and per_index and failed is not None:
        check("failedIndexes", failed)
    if completed_changed and completed and spec.get("completionMode") != "Indexed":
        text = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(invalid("status.completedIndexes", completed, text))
    if failed_changed and failed is not None and not per_index:
        text = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(invalid("status.failedIndexes", failed, text))
    if (completed_changed or failed_changed) and completions is not None and failed is not None:
        index = first_overlap(completed, failed, completions)
        if index is not None:
            text = f"failedIndexes and completedIndexes overlap at index: {index}"
            errors.append(invalid("status.failedIndexes", failed, text))
    return errors


def _pod_count_errors(status: Object, changes: _Changes) -> list[FieldError]:
    terminating, active, ready = status.get("terminating") or 0, status.get("active") or 0, status.get("ready")
    errors: list[FieldError] = []
    if terminating > 0 and is_finished(status) and (changes.finished() or changes.fields("terminating")):
        text = "terminating>0 is invalid for finished job"
        errors.append(invalid("status.terminating", terminating, text))
    if ready is not None and ready > active and changes.fields("ready", "active"):
        errors.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    return errors


def _success_errors(spec: Object, status: Object) -> list[FieldError]:
    met = is_true(status, "SuccessCriteriaMet")
    errors: list[FieldError] = []
    for kind, text in (("Failed", "Failed=true"), ("FailureTarget", "FailureTarget=true")):
        if met and is_true(status, kind):
            errors.append(_wrong_conditions(f"cannot set SuccessCriteriaMet=True and {text} conditions"))
    if spec.get("successPolicy") is not None and not met and is_true(status, "Complete"):
        text = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
        errors.append(_wrong_conditions(text))
    return errors


def _transition_errors(spec: Object, status: Object, before: Object) -> list[FieldError]:
    errors = [
        _wrong_conditions(f"cannot disable the terminal {kind}=True condition")
        for kind in ("Failed", "Complete", "FailureTarget")
        if is_true(before, kind) and not is_true(status, kind)
    ]
    may_shrink = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for name in ("failed", "succeeded"):
        if name == "succeeded" and may_shrink:
            continue
        count = status.get(name) or 0
        if count < (before.get(name) or 0):
            errors.append(invalid(f"status.{name}", count, f"cannot decrease the {name} counter"))
    end, old_end = status.get("completionTime"), before.get("completionTime")
    if end and old_end and end != old_end:
        errors.append(invalid("status.completionTime", end, "field is immutable"))
    old_start = before.get("startTime")
    resumes = is_true(before, "Suspended") and _has(status, "Suspended", "False")
    if old_start and old_start != status.get("startTime") and not spec.get("suspend") and not resumes:
        text = "field is immutable for unsuspended job once set"
        errors.append(invalid("status.startTime", status.get("startTime"), text))
    met, was_met = is_true(status, "SuccessCriteriaMet"), is_true(before, "SuccessCriteriaMet")
    if was_met and not met:
        errors.append(_wrong_conditions("cannot disable the SuccessCriteriaMet=True condition"))
    if is_true(before, "Complete") and not was_met and met:
        text = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        errors.append(_wrong_conditions(text))
    return errors

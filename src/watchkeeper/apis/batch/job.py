"""Jobs: their behavior in the generic registry."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing, workloads
from watchkeeper.apis.batch.job_status_validation import is_true, validate_job_status_update
from watchkeeper.apis.batch.job_validation import NAME, OLD_NAME, OLD_UID, UID, validate_job, validate_job_update
from watchkeeper.apis.batch.job_warnings import warnings_for_job_spec
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.pod_defaults import default_pod_template
from watchkeeper.apis.core.pod_features import spec_of_template, without_disabled_fields
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

_MAX_INT32 = 2**31 - 1
_DELETE_WARNING = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set "
    "propagationPolicy=Orphan to suppress this warning"
)


def default_job(job: Object) -> None:
    """Fill in a Job. A Job without labels has those of its template, the very same: labels added later count too."""
    spec: Object = job.setdefault("spec", {})
    if spec.get("parallelism") is None:
        if spec.get("completions") is None:
            spec["completions"] = 1
        spec["parallelism"] = 1
    if spec.get("backoffLimit") is None:
        spec["backoffLimit"] = 6 if spec.get("backoffLimitPerIndex") is None else _MAX_INT32
    template: Object = spec.setdefault("template", {})
    labels = (template.get("metadata") or {}).get("labels")
    meta: Object = job.setdefault("metadata", {})
    if labels and not meta.get("labels"):
        meta["labels"] = labels
    if spec.get("completionMode") is None:
        spec["completionMode"] = "NonIndexed"
    if spec.get("suspend") is None:
        spec["suspend"] = False
    if spec.get("podReplacementPolicy") is None:
        with_policy = spec.get("podFailurePolicy") is not None
        spec["podReplacementPolicy"] = "Failed" if with_policy else "TerminatingOrFailed"
    if spec.get("manualSelector") is None:
        spec["manualSelector"] = False
    default_failure_policy(spec)
    default_pod_template(template)


def default_failure_policy(spec: Object) -> None:
    """The conditions of pods that rules speak of are true ones unless they say otherwise."""
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"


def _prepare_for_create(job: Object) -> None:
    spec, meta = job["spec"], job["metadata"]
    template_meta: Object = spec["template"].setdefault("metadata", {})
    shared = meta.get("labels") is template_meta.get("labels")
    if not spec.get("manualSelector"):
        _generate_selector(spec, template_meta, meta)
    if shared and meta.get("labels") is not None:
        meta["labels"] = dict(template_meta["labels"])
    job["status"] = {}


def _complete_new(job: Object) -> None:
    """A Job that came without any labels has those of its template once it is stored, and not while it is judged."""
    workloads.default_labels(job)


def _generate_selector(spec: Object, template_meta: Object, meta: Object) -> None:
    """Select the Job's own pods, by its uid. Labels that contradict it are left for validation to find."""
    labels = dict(template_meta.get("labels") or {})
    name, uid = meta.get("name") or "", meta.get("uid") or ""
    for key, value in ((OLD_NAME, name), (NAME, name), (OLD_UID, uid), (UID, uid)):
        labels.setdefault(key, value)
    template_meta["labels"] = labels
    selector: Object = dict(spec.get("selector") or {})
    selector["matchLabels"] = {UID: uid, **(selector.get("matchLabels") or {})}
    spec["selector"] = selector


def _prepare_for_update(new: Object, _old: Object) -> None:
    meta, template = new["metadata"], (new.get("spec") or {}).get("template") or {}
    shared = meta.get("labels") is (template.get("metadata") or {}).get("labels")
    if shared and meta.get("labels"):
        meta["labels"] = dict(meta["labels"])


def _warnings_on_create(job: Object) -> list[str]:
    return workloads.warnings_for_name(job) + warnings_for_job_spec(job["spec"], "spec")


def _warnings_on_update(new: Object, old: Object) -> list[str]:
    if new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return warnings_for_job_spec(new.get("spec") or {}, "spec")


def _status_cell(job: Object) -> str:
    status = job.get("status") or {}
    for kind in ("Complete", "Failed"):
        if is_true(status, kind):
            return kind
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for kind in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if is_true(status, kind):
            return kind
    return "Running"


def _completions_cell(spec: Object, succeeded: int) -> str:
    if spec.get("completions") is not None:
        return f"{succeeded}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"


def _duration_cell(status: Object, now: float) -> str:
    start, end = status.get("startTime"), status.get("completionTime")
    if not start:
        return ""
    until = printing.parse_time(end) if end else now
    return printing.human_duration(until - printing.parse_time(start))


def _cells(job: Object, now: float) -> list[Any]:
    spec, status = job.get("spec") or {}, job.get("status") or {}
    return [
        printing.name_of(job),
        _status_cell(job),
        _completions_cell(spec, status.get("succeeded") or 0),
        _duration_cell(status, now),
        printing.age(job, now),
        *workloads.container_cells(job),
        printing.format_label_selector(spec.get("selector")),
    ]


_TABLE = TableSpec(
    columns=(
        printing.NAME,
        Column("Status", "string", "Status of the job."),
        Column("Completions", "string", "How many pods have succeeded, and how many shall."),
        Column("Duration", "string", "Time required to complete the job."),
        printing.AGE,
        printing.CONTAINERS,
        printing.IMAGES,
        printing.SELECTOR,
    ),
    cells=_cells,
)

BEHAVIORS = [
    without_disabled_fields(
        KindBehavior(
            kind=GroupKind("batch", "Job"),
            prepare_for_create=_prepare_for_create,
            complete_new=_complete_new,
            prepare_for_update=_prepare_for_update,
            prepare_for_status_update=lambda new, _old: workloads.default_labels(new),
            validate=validate_job,
            validate_update=validate_job_update,
            validate_status_update=validate_job_status_update,
            warnings_on_create=_warnings_on_create,
            warnings_on_update=_warnings_on_update,
            selectable_fields=lambda job: {"status.successful": str((job.get("status") or {}).get("succeeded") or 0)},
            selectable_labels=("status.successful",),
            unsupported_field_label=lambda label: f'field label "{label}" not supported for Job',
            has_generation=True,
            default_propagation="Orphan",
            table=_TABLE,
            extra={"delete_warning": _DELETE_WARNING},
        ),
        spec_of_template,
    )
]
DEFAULTS = {GroupVersionKind("batch", "v1", "Job"): default_job}

"""CronJobs: their behavior in the generic registry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from watchkeeper.apis import printing, workloads
from watchkeeper.apis.batch.cron_schedule import ScheduleError, check_schedule, is_time_zone
from watchkeeper.apis.batch.job import default_failure_policy
from watchkeeper.apis.batch.job_spec_validation import validate_job_spec
from watchkeeper.apis.batch.job_warnings import warnings_for_job_spec
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.pod_defaults import default_pod_template
from watchkeeper.apis.core.pod_features import spec_of_template, without_disabled_fields
from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.core.pod_template_validation import template_options
from watchkeeper.apis.validation.enums import validate_enum
from watchkeeper.apis.validation.names import byte_length
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.meta.field import FieldError, JsonText, in_declared_order, invalid, not_supported, required
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

_MAX_NAME = 52
"""Leaves room in a Job's name for the time, which the controller appends."""
_POLICIES = ("Allow", "Forbid", "Replace")
_zone_part = re.compile(r"[A-Za-z.\-_0-9+]{1,14}").fullmatch
_ZONES_PAGE = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"


def default_cron_job(cron_job: Object) -> None:
    """Fill in a CronJob. Its template of a Job stays as it is, but for the template of pods."""
    spec: Object = cron_job.setdefault("spec", {})
    if not spec.get("concurrencyPolicy"):
        spec["concurrencyPolicy"] = "Allow"
    for name, value in (("suspend", False), ("successfulJobsHistoryLimit", 3), ("failedJobsHistoryLimit", 1)):
        if spec.get(name) is None:
            spec[name] = value
    job: Object = spec.setdefault("jobTemplate", {}).setdefault("spec", {})
    default_failure_policy(job)
    default_pod_template(job.setdefault("template", {}))


def _job_spec(cron_job: Mapping[str, Any]) -> Mapping[str, Any]:
    spec: Mapping[str, Any] = ((cron_job.get("spec") or {}).get("jobTemplate") or {}).get("spec") or {}
    return spec


def _validate(cron_job: Object) -> list[FieldError]:
    errors = _spec_errors(cron_job, None, template_options(None))
    name = cron_job["metadata"].get("name") or ""
    if byte_length(name) > _MAX_NAME:
        errors.append(invalid("metadata.name", name, f"must be no more than {_MAX_NAME} characters"))
    return errors


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    """Longer names than new CronJobs may have stay valid."""
    options = template_options(_job_spec(old).get("template") or {})
    return _spec_errors(new, old.get("spec") or {}, options)


def _spec_errors(cron_job: Object, old: Mapping[str, Any] | None, options: PodOptions) -> list[FieldError]:
    spec = cron_job.get("spec") or {}
    zone = spec.get("timeZone")
    errors = _schedule_errors(spec.get("schedule") or "", zone, (old or {}).get("schedule") or "")
    errors += validate_nonnegative(spec.get("startingDeadlineSeconds"), "spec.startingDeadlineSeconds")
    if zone is not None and (old is None or old.get("timeZone") != zone):
        errors += _zone_errors(zone)
    errors += validate_enum(spec.get("concurrencyPolicy"), "spec.concurrencyPolicy", _POLICIES)
    job, path = _job_spec(cron_job), "spec.jobTemplate.spec"
    errors += validate_job_spec(job, path, options)
    if job.get("selector") is not None:
        errors.append(
            invalid(f"{path}.selector", in_declared_order(job["selector"]), "`selector` will be auto-generated")
        )
    if job.get("manualSelector"):
        errors.append(not_supported(f"{path}.manualSelector", True, ("nil", "false")))
    for name in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        errors += validate_nonnegative(spec.get(name), f"spec.{name}")
    return errors


def _schedule_errors(schedule: str, zone: str | None, old: str) -> list[FieldError]:
    path = "spec.schedule"
    if not schedule:
        return [required(path)]
    errors: list[FieldError] = []
    try:
        check_schedule(schedule)
    except ScheduleError as error:
        errors.append(invalid(path, schedule, str(error)))
    if "TZ" not in schedule:
        return errors
    if "TZ" not in old:
        text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(invalid(path, schedule, text))
    elif zone is not None:
        text = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        errors.append(invalid(path, schedule, text))
    return errors


def _zone_errors(zone: str) -> list[FieldError]:
    path = "spec.timeZone"
    if not zone:
        return [invalid(path, zone, "timeZone must be nil or non-empty string")]
    unknown = invalid(path, JsonText(zone), f"unknown time zone {zone}")
    if any(part in (".", "..") or part.startswith("-") or not _zone_part(part) for part in zone.split("/")):
        return [unknown]
    errors: list[FieldError] = []
    if zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        errors.append(invalid(path, zone, text))
    if not is_time_zone(zone):
        errors.append(unknown)
    return errors


def _prepare_for_create(cron_job: Object) -> None:
    cron_job["status"] = {}


def _warnings_on_create(cron_job: Object) -> list[str]:
    return workloads.warnings_for_name(cron_job) + warnings_for_job_spec(_job_spec(cron_job), "spec.jobTemplate.spec")


def _warnings_on_update(new: Object, old: Object) -> list[str]:
    warnings = []
    if new["metadata"].get("generation") != old["metadata"].get("generation"):
        warnings += warnings_for_job_spec(_job_spec(new), "spec.jobTemplate.spec")
    if "TZ" in ((new.get("spec") or {}).get("schedule") or ""):
        text = "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead"
        warnings.append(f"{text}, see {_ZONES_PAGE} for more details")
    return warnings


def _cells(cron_job: Object, now: float) -> list[Any]:
    spec, status = cron_job.get("spec") or {}, cron_job.get("status") or {}
    job = _job_spec(cron_job)
    last = status.get("lastScheduleTime")
    zone = spec.get("timeZone")
    return [
        printing.name_of(cron_job),
        spec.get("schedule") or "",
        printing.NONE if zone is None else zone,
        printing.format_bool(spec.get("suspend")),
        len(status.get("active") or ()),
        printing.since(last, now) if last else printing.NONE,
        printing.age(cron_job, now),
        *printing.container_cells(((job.get("template") or {}).get("spec") or {}).get("containers")),
        printing.format_label_selector(job.get("selector")),
    ]


_TABLE = TableSpec(
    columns=(
        printing.NAME,
        Column("Schedule", "string", "When Jobs start, in cron's syntax."),
        Column("Timezone", "string", "The time zone of the schedule."),
        Column("Suspend", "boolean", "Whether no more Jobs start."),
        Column("Active", "integer", "How many Jobs are running."),
        Column("Last Schedule", "string", "How long ago a Job was last started."),
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
            kind=GroupKind("batch", "CronJob"),
            prepare_for_create=_prepare_for_create,
            validate=_validate,
            validate_update=_validate_update,
            warnings_on_create=_warnings_on_create,
            warnings_on_update=_warnings_on_update,
            has_generation=True,
            table=_TABLE,
        ),
        lambda obj: spec_of_template((obj.get("spec") or {}).get("jobTemplate") or {}),
    )
]
DEFAULTS = {GroupVersionKind("batch", "v1", "CronJob"): default_cron_job}

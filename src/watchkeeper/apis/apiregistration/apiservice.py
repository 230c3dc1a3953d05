"""APIServices: who serves a version of a group, this server itself or one behind a Service."""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.apiregistration.schemas import GROUP, KIND, VERSION
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.status_metadata import keep_metadata_but_times
from watchkeeper.apis.validation.names import (
    NameRule,
    is_dns1035_label,
    is_dns1123_subdomain,
    is_path_segment_name,
    is_port_number,
)
from watchkeeper.meta.field import FieldError, go_quote, invalid, not_supported, required
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind
from watchkeeper.runtime.timestamps import time_text

Object = dict[str, Any]

MANAGED = "kube-aggregator.kubernetes.io/automanaged"
"""The label of those that a server makes of what it serves."""
AVAILABLE = "Available"
DEFAULT_PORT = 443
_MAX_GROUP_PRIORITY, _MAX_VERSION_PRIORITY = 20000, 1000
_STATUSES = ("True", "False", "Unknown")


def default_port(service: Object) -> None:
    """A Service that says no port is asked on 443."""
    reference = (service.get("spec") or {}).get("service")
    if reference is not None and reference.get("port") is None:
        reference["port"] = DEFAULT_PORT


def available(service: Object) -> Object | None:
    """The condition that tells whether it can be reached."""
    conditions = (service.get("status") or {}).get("conditions") or ()
    return next((each for each in conditions if each.get("type") == AVAILABLE), None)


def local_condition(now: str) -> Object:
    """The condition of a service that is this server itself."""
    return {
        "type": AVAILABLE,
        "status": "True",
        "lastTransitionTime": now,
        "reason": "Local",
        "message": "Local APIServices are always available",
    }


def _prepare(service: Object) -> None:
    service["status"] = {}
    if (service.get("spec") or {}).get("service") is None:
        service["status"] = {"conditions": [local_condition(time_text(time.time()))]}


def _validate(service: Object) -> list[FieldError]:
    spec = service.get("spec") or {}
    group, version = spec.get("group") or "", spec.get("version") or ""
    errors: list[FieldError] = []
    if not group and version != "v1":
        why = "only v1 may have an empty group and it better be legacy kube"
        errors.append(required("spec.group", why))
    if group:
        errors += [invalid("spec.group", group, why) for why in is_dns1123_subdomain(group)]
    errors += [invalid("spec.version", version, why) for why in is_dns1035_label(version)]
    for field, limit in (("groupPriorityMinimum", _MAX_GROUP_PRIORITY), ("versionPriority", _MAX_VERSION_PRIORITY)):
        priority = spec.get(field) or 0
        if not 0 < priority <= limit:
            errors.append(invalid(f"spec.{field}", priority, f"must be positive and less than {limit}"))
    return errors + (_local_errors(spec) if spec.get("service") is None else _remote_errors(spec))


def _name_rule(service: Object) -> NameRule:
    """Names say what is served."""
    spec = service.get("spec") or {}
    expected = f"{spec.get('version') or ''}.{spec.get('group') or ''}"

    def rule(name: str, _prefix: bool) -> list[str]:
        wrong = is_path_segment_name(name)
        if wrong or name == expected:
            return wrong
        return [f'must be `spec.version+"."+spec.group`: {go_quote(expected)}']

    return rule


def _local_errors(spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec.get("caBundle"):
        size = len(base64.b64decode(spec["caBundle"]))
        errors.append(invalid("spec.caBundle", f"{size} bytes", "local APIServices may not have a caBundle"))
    if spec.get("insecureSkipTLSVerify"):
        why = "local APIServices may not have insecureSkipTLSVerify"
        errors.append(invalid("spec.insecureSkipTLSVerify", True, why))
    return errors


def _remote_errors(spec: Object) -> list[FieldError]:
    reference = spec["service"]
    errors = [required(f"spec.service.{field}", "") for field in ("namespace", "name") if not reference.get(field)]
    port = reference.get("port") or 0
    if wrong := is_port_number(port):
        errors.append(invalid("spec.service.port", port, f"port is not valid: {', '.join(wrong)}"))
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        errors.append(invalid("spec.insecureSkipTLSVerify", True, "may not be true if caBundle is present"))
    return errors


def _validate_status(service: Object) -> list[FieldError]:
    conditions: Sequence[Object] = (service.get("status") or {}).get("conditions") or ()
    return [
        not_supported(f"status.conditions[{i}].status", each.get("status") or "", _STATUSES)
        for i, each in enumerate(conditions)
        if each.get("status") not in _STATUSES
    ]


def _cells(service: Object, now: float) -> list[Any]:
    reference = (service.get("spec") or {}).get("service")
    where = f"{reference.get('namespace', '')}/{reference.get('name', '')}" if reference is not None else "Local"
    condition = available(service)
    shown = condition.get("status", "") if condition is not None else "Unknown"
    if condition is not None and shown != "True" and condition.get("reason"):
        shown = f"{shown} ({condition['reason']})"
    return [printing.name_of(service), where, shown, printing.age(service, now)]


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind(GROUP, KIND),
        prepare_for_create=_prepare,
        prepare_for_status_update=keep_metadata_but_times,
        validate=_validate,
        validate_update=lambda new, _old: _validate(new),
        validate_status_update=lambda new, _old: _validate_status(new),
        name_rule_of=_name_rule,
        allow_unconditional_update=False,
        status_has_table=False,
        table=TableSpec(
            columns=(
                printing.NAME,
                Column("Service", "string", "The Service behind which it is served."),
                Column("Available", "string", "Whether it can be reached."),
                printing.AGE,
            ),
            cells=_cells,
        ),
    )
]
DEFAULTS = {GroupVersionKind(GROUP, VERSION, KIND): default_port}

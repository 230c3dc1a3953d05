"""What the kinds that run pods from templates have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.core.pod_template_validation import validate_template
from watchkeeper.apis.core.pod_warnings import warnings_for_template
from watchkeeper.apis.semantic import same
from watchkeeper.apis.validation.metadata import NEGATIVE
from watchkeeper.apis.validation.names import is_dns1123_label
from watchkeeper.apis.validation.numbers import validate_nonnegative
from watchkeeper.apis.validation.selectors import is_empty_selector, selector_matches, validate_label_selector
from watchkeeper.meta.field import (
    FieldError,
    forbidden,
    in_declared_order,
    in_key_order,
    invalid,
    not_supported,
    required,
)

Object = Mapping[str, Any]

_OPERATORS = frozenset(("In", "NotIn", "Exists", "DoesNotExist"))


def template_of(obj: Object) -> Object:
    """A workload's template."""
    template: Object = (obj.get("spec") or {}).get("template") or {}
    return template


def default_labels(obj: Object) -> None:
    """Give a workload without labels those of its template, as readers of some kinds do."""
    labels = (template_of(obj).get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)


def same_template(new: Object, old: Object) -> bool:
    """Whether two states of a workload have the same template."""
    return same(template_of(new), template_of(old), "core.v1.PodTemplateSpec")


def is_usable_selector(selector: Object | None) -> bool:
    """Whether a selector can be evaluated: its operators are known and have the values that they need."""
    for requirement in (selector or {}).get("matchExpressions") or ():
        operator, values = requirement.get("operator"), requirement.get("values") or ()
        if operator not in _OPERATORS or bool(values) != (operator in ("In", "NotIn")):
            return False
    return not validate_label_selector(selector, "")


def validate_strict_selector(selector: Object | None, path: str, kind: str) -> list[FieldError]:
    """The selector of a workload: required, valid, and not empty."""
    if selector is None:
        return [required(path)]
    errors = validate_label_selector(selector, path)
    if is_empty_selector(selector):
        errors.append(invalid(path, dict(selector), f"empty selector is invalid for {kind}"))
    return errors


def validate_selector_matches(selector: Object | None, template: Object, path: str) -> list[FieldError]:
    """A selector must select the pods of the template at `path`; one that selects everything or is absent need not."""
    labels = (template.get("metadata") or {}).get("labels")
    if selector is not None and is_empty_selector(selector):
        return []
    if selector_matches(selector, labels or {}):
        return []
    return [mismatch(labels, path)]


def mismatch(labels: Mapping[str, str] | None, path: str) -> FieldError:
    """That the template at `path` has labels which its selector does not select."""
    text = "`selector` does not match template `labels`"
    return invalid(f"{path}.metadata.labels", in_key_order(labels), text)


def warnings_for_name(obj: Mapping[str, Any]) -> list[str]:
    """A name that cannot be part of a hostname, as the names of Pods made from it would be."""
    wrong = is_dns1123_label(obj["metadata"].get("name") or "")
    if not wrong:
        return []
    text = (
        "this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended"
    )
    return [f"metadata.name: {text}: [{' '.join(wrong)}]"]


def replica_warnings_on_create(obj: Mapping[str, Any]) -> list[str]:
    """What is told of a new ReplicaSet or Deployment."""
    return warnings_for_name(obj) + warnings_for_template(template_of(obj), "spec.template")


def replica_warnings_on_update(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[str]:
    """What is told of one whose specification has changed, as its generation says."""
    if new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return warnings_for_template(template_of(new), "spec.template")


def validate_always_restarting(template: Object, path: str, kind: str) -> list[FieldError]:
    """The pods of a workload that keeps them running always restart and have no deadline."""
    spec = template.get("spec") or {}
    errors: list[FieldError] = []
    if spec.get("restartPolicy") != "Always":
        errors.append(not_supported(f"{path}.spec.restartPolicy", spec.get("restartPolicy") or "", ("Always",)))
    if spec.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        errors.append(forbidden(f"{path}.spec.activeDeadlineSeconds", text))
    return errors


def validate_replica_spec(spec: Object, options: PodOptions) -> list[FieldError]:
    """The selector and the template of a ReplicaSet or Deployment."""
    selector = spec.get("selector")
    errors = validate_strict_selector(selector, "spec.selector", "deployment")
    if not is_usable_selector(selector):
        return [*errors, invalid("spec.selector", in_declared_order(selector), "invalid label selector")]
    template, path = spec.get("template") or {}, "spec.template"
    errors += validate_selector_matches(selector, template, path)
    errors += validate_template(template, path, options)
    return errors + validate_always_restarting(template, path, "ReplicaSet")


def validate_counts(status: Object, fields: Sequence[str], path: str) -> list[FieldError]:
    """Counts within a status may not be negative."""
    errors: list[FieldError] = []
    for field in fields:
        value = status.get(field)
        if value and value < 0:
            errors.append(invalid(f"{path}.{field}", value, NEGATIVE))
    return errors


def validate_replica_counts(
    status: Object, fields: Sequence[str], path: str, *, ready: str = "readyReplicas"
) -> list[FieldError]:
    """None of some counts may exceed the number of replicas, nor the available ones that of the ready ones."""
    total = status.get("replicas") or 0
    errors = [
        invalid(f"{path}.{field}", status.get(field) or 0, "cannot be greater than status.replicas")
        for field in fields
        if (status.get(field) or 0) > total
    ]
    available = status.get("availableReplicas") or 0
    if available > (status.get("readyReplicas") or 0):
        errors.append(invalid(f"{path}.availableReplicas", available, f"cannot be greater than {ready}"))
    return errors


def validate_collision_count(new: Object, old: Object) -> list[FieldError]:
    """The collision count of a status only grows."""
    now = (new.get("status") or {}).get("collisionCount")
    before = (old.get("status") or {}).get("collisionCount")
    if before is not None and (now is None or now < before):
        return [invalid("status.collisionCount", now or 0, "cannot be decremented")]
    return []


def validate_history_limit(spec: Object, path: str) -> list[FieldError]:
    """How many old revisions are kept."""
    return validate_nonnegative(spec.get("revisionHistoryLimit"), f"{path}.revisionHistoryLimit")


def container_cells(obj: Object) -> list[str]:
    """The cells that tell the containers and images of a workload's template."""
    return [*printing.container_cells((template_of(obj).get("spec") or {}).get("containers"))]


def unknown_field_label(label: str) -> str:
    """The words of apps and batch kinds about a field label that they do not know."""
    return f"field label not supported: {label}"


def show_no_replicas(obj: dict[str, Any]) -> None:
    """What bookmarks show of a kind whose internal type has a plain number of replicas."""
    obj["spec"] = {"replicas": 0, **obj["spec"]}

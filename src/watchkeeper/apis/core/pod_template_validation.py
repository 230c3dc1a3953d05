"""The rules of pod templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core.pod_annotations import is_deletion_cost, validate_pod_annotations, validate_profiles_match
from watchkeeper.apis.core.pod_options import NEW_TEMPLATE, PodOptions
from watchkeeper.apis.core.pod_ratcheting import options_for_update
from watchkeeper.apis.core.pod_spec_validation import validate_pod_spec
from watchkeeper.apis.validation.metadata import validate_annotations, validate_labels
from watchkeeper.meta.field import FieldError, forbidden

Object = Mapping[str, Any]

_COST = "controller.kubernetes.io/pod-deletion-cost"


def template_options(old: Object | None) -> PodOptions:
    """The options to validate a template with; `old` is the template that it replaces, None on creation."""
    if old is None:
        return NEW_TEMPLATE
    cost = ((old.get("metadata") or {}).get("annotations") or {}).get(_COST)
    return options_for_update(
        old.get("spec") or {},
        in_pod=False,
        allow_invalid_deletion_cost=cost is not None and not is_deletion_cost(cost),
    )


def validate_template_metadata(template: Object, path: str, options: PodOptions) -> list[FieldError]:
    """Labels and annotations of a template. Errors name them without `metadata`, as the reference's do."""
    metadata = template.get("metadata") or {}
    errors: list[FieldError] = []
    labels, annotations = metadata.get("labels"), metadata.get("annotations")
    if labels:
        errors += validate_labels(labels, f"{path}.labels")
    if annotations:
        errors += validate_annotations(annotations, f"{path}.annotations")
        check_cost = not options.allow_invalid_deletion_cost
        spec = template.get("spec") or {}
        errors += validate_pod_annotations(annotations, spec, f"{path}.annotations", check_cost=check_cost)
    return errors


def validate_template(template: Object, path: str, options: PodOptions = NEW_TEMPLATE) -> list[FieldError]:
    """A whole template."""
    spec = template.get("spec") or {}
    errors = validate_template_metadata(template, path, options)
    errors += validate_pod_spec(spec, f"{path}.spec", options)
    annotations = (template.get("metadata") or {}).get("annotations")
    if annotations:
        errors += validate_profiles_match(annotations, spec, f"{path}.spec")
    if spec.get("ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        errors.append(forbidden(f"{path}.spec.ephemeralContainers", text))
    return errors

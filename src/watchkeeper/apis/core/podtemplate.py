"""PodTemplates."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, KindBehavior, TableSpec
from watchkeeper.apis.core.pod_defaults import default_pod_template
from watchkeeper.apis.core.pod_features import without_disabled_fields
from watchkeeper.apis.core.pod_template_validation import template_options, validate_template
from watchkeeper.apis.core.pod_warnings import warnings_for_template
from watchkeeper.apis.semantic import same
from watchkeeper.meta.field import FieldError
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]


def default_pod_template_object(obj: Object) -> None:
    """Fill in the template."""
    default_pod_template(obj.setdefault("template", {}))


def _validate(obj: Object) -> list[FieldError]:
    return validate_template(obj.get("template") or {}, "template", template_options(None))


def _validate_update(new: Object, old: Object) -> list[FieldError]:
    return validate_template(new.get("template") or {}, "template", template_options(old.get("template") or {}))


def _prepare_for_update(new: Object, old: Object) -> None:
    """Generation counts changes of the template, as it does those of a spec elsewhere."""
    if not same(new.get("template"), old.get("template"), "core.v1.PodTemplateSpec"):
        new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1


def _warnings_on_update(new: Object, old: Object) -> list[str]:
    if new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return warnings_for_template(new.get("template") or {}, "template")


def _cells(obj: Object, _now: float) -> list[Any]:
    template = obj.get("template") or {}
    names, images = printing.container_cells((template.get("spec") or {}).get("containers"))
    labels = (template.get("metadata") or {}).get("labels")
    return [printing.name_of(obj), names, images, printing.format_labels(labels)]


BEHAVIORS = [
    without_disabled_fields(
        KindBehavior(
            kind=GroupKind("", "PodTemplate"),
            prepare_for_update=_prepare_for_update,
            validate=_validate,
            validate_update=_validate_update,
            warnings_on_create=lambda obj: warnings_for_template(obj.get("template") or {}, "template"),
            warnings_on_update=_warnings_on_update,
            has_status=False,
            has_generation=True,
            table=TableSpec(
                columns=(
                    printing.NAME,
                    Column("Containers", "string", "Names of each container in the template."),
                    Column("Images", "string", "Images referenced by each container in the template."),
                    Column("Pod Labels", "string", "The labels for the pod template."),
                ),
                cells=_cells,
            ),
        ),
        lambda obj: (obj.get("template") or {}).get("spec") or {},
    )
]
DEFAULTS = {GroupVersionKind("", "v1", "PodTemplate"): default_pod_template_object}

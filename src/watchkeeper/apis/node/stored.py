"""RuntimeClasses as they were stored at v1alpha1, with a spec."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def runtime_class_at_v1(runtime_class: Object) -> Object:
    """A RuntimeClass of v1alpha1 as v1 has it (pkg/apis/node/v1alpha1/conversion.go). Consumes it."""
    spec = runtime_class.pop("spec", None) or {}
    runtime_class["handler"] = spec.pop("runtimeHandler", "")
    runtime_class.update(spec)
    return runtime_class

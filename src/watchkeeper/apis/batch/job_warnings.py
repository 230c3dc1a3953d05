"""Warnings about Jobs, in the reference's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core.pod_warnings import warnings_for_template

Object = Mapping[str, Any]

_MANY_COMPLETIONS = 100_000
_MANY_PODS = 10_000
_MANY = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes "
    "might not be able to track completedIndexes when a big number of indexes fail"
)


def warnings_for_job_spec(spec: Object, path: str) -> list[str]:
    """Warnings about the spec at `path`."""
    warnings = []
    if (
        spec.get("completionMode") == "Indexed"
        and (spec.get("completions") or 0) > _MANY_COMPLETIONS
        and (spec.get("parallelism") or 0) > _MANY_PODS
    ):
        warnings.append(f"{path}: {_MANY}")
    return warnings + warnings_for_template(spec.get("template") or {}, f"{path}.template")

"""LimitRanges."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.behavior import KindBehavior
from watchkeeper.apis.core.limitrange_validation import validate_limit_range
from watchkeeper.apis.quantities import round_resources
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind

Object = dict[str, Any]

_LISTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def default_limit_range(limit_range: Object) -> None:
    """A container's default limit is its maximum; its default request is its default limit, else its minimum."""
    for item in (limit_range.get("spec") or {}).get("limits") or ():
        if item.get("type") == "Container":
            limits = item.setdefault("default", {})
            requests = item.setdefault("defaultRequest", {})
            _fill(limits, item.get("max"))
            _fill(requests, limits)
            _fill(requests, item.get("min"))
            for name in ("default", "defaultRequest"):
                if not item[name]:
                    del item[name]
        for name in _LISTS:
            round_resources(item.get(name))


def _fill(target: dict[str, str], source: Mapping[str, str] | None) -> None:
    for name, value in (source or {}).items():
        target.setdefault(name, value)


def _prepare_for_create(limit_range: Object) -> None:
    """One without a name gets a random one."""
    if not limit_range["metadata"].get("name"):
        limit_range["metadata"]["name"] = str(uuid.uuid4())


BEHAVIORS = [
    KindBehavior(
        kind=GroupKind("", "LimitRange"),
        prepare_for_create=_prepare_for_create,
        validate=validate_limit_range,
        validate_update=lambda new, _old: validate_limit_range(new),
        allow_create_on_update=True,
        has_status=False,
    )
]
DEFAULTS = {GroupVersionKind("", "v1", "LimitRange"): default_limit_range}

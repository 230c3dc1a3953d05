"""The EventRateLimit plugin: how many Events may be written, in all or by namespace, user, or what they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.token_bucket import TokenBuckets
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import FieldError, invalid, not_supported
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.runtime.config_file import parse_config

_EVENTS = GroupResource("", "events")
_SPECS = {
    "eventratelimit.admission.k8s.io/v1alpha1": {"limits": [{"type": str, "qps": int, "burst": int, "cacheSize": int}]}
}
_SERVER, _NAMESPACE, _USER, _ABOUT = "Server", "Namespace", "User", "SourceAndObject"
_TYPES = (_SERVER, _NAMESPACE, _USER, _ABOUT)
_CACHE_SIZE = 4096


@dataclass(frozen=True, slots=True)
class Limit:
    """How many Events a second, and how many at once, of each key of a type; so many keys are remembered."""

    type: str
    qps: int
    burst: int
    keys: int = _CACHE_SIZE


def parse_limits(data: str | Mapping[str, Any]) -> tuple[list[Limit], list[FieldError]]:
    """Read a file, or an object from one, and what is wrong with its values. Raises ConfigFileError."""
    given = parse_config(data, "Configuration", _SPECS).get("limits") or []
    errors = [] if given else [invalid("limits", None, "must not be empty")]
    limits: list[Limit] = []
    for i, each in enumerate(given):
        path = f"limits[{i}]"
        limit = Limit(each.get("type") or "", each.get("qps") or 0, each.get("burst") or 0, each.get("cacheSize") or 0)
        if limit.type not in _TYPES:
            errors.append(not_supported(f"{path}.type", limit.type, _TYPES))
        if limit.burst <= 0:
            errors.append(invalid(f"{path}.burst", limit.burst, "must be positive"))
        if limit.qps <= 0:
            errors.append(invalid(f"{path}.qps", limit.qps, "must be positive"))
        if limit.type != _SERVER and limit.keys < 0:
            errors.append(invalid(f"{path}.cacheSize", limit.keys, "must not be negative"))
        limits.append(Limit(limit.type, limit.qps, limit.burst, limit.keys or _CACHE_SIZE))
    return limits, errors


class EventRateLimit(BasePlugin):
    """Refuses Events when there are too many."""

    name = "EventRateLimit"
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    resources = frozenset({_EVENTS})

    def __init__(self, limits: Sequence[Limit], clock: Clock = SYSTEM_CLOCK) -> None:
        self._limits = [(each.type, TokenBuckets(each.qps, each.burst, each.keys, clock=clock)) for each in limits]

    def validate(self, attributes: Attributes) -> None:
        """Count an Event. Raises a 429."""
        if attributes.resource.group_resource != _EVENTS or attributes.dry_run:
            return
        refused = []
        for kind, buckets in self._limits:
            key = _key(kind, attributes)
            if not buckets.take(key):
                refused.append(f"limit reached on type {kind} for key {key}")
        if refused:
            told = refused[0] if len(refused) == 1 else f"[{', '.join(dict.fromkeys(refused))}]"
            raise ApiError(429, "TooManyRequests", f"Too many requests: {told}")


def _key(kind: str, attributes: Attributes) -> str:
    if kind == _NAMESPACE:
        return attributes.namespace
    if kind == _USER:
        return attributes.user.name
    if kind != _ABOUT:
        return ""
    event = attributes.obj or {}
    source, about = event.get("source") or {}, event.get("involvedObject") or {}
    parts = [source.get("component"), source.get("host")]
    parts += [about.get(field) for field in ("kind", "namespace", "name", "uid", "apiVersion")]
    return "".join(part or "" for part in parts)

"""Workloads as they were stored in `extensions/v1beta1`, where they began."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis.apps.beta_versions import default_labels, rolled_back

Object = dict[str, Any]

_NO_LIMIT = 2**31 - 1
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"


def deployment_at_v1(deployment: Object) -> Object:
    """A Deployment of `extensions` as apps/v1 has it (pkg/apis/extensions/v1beta1/defaults.go). Consumes it."""
    default_labels(deployment)
    spec = deployment["spec"]
    for name in ("progressDeadlineSeconds", "revisionHistoryLimit"):
        _set_default(spec, name, _NO_LIMIT)
    strategy = _part(spec, "strategy")
    if strategy.get("type") in (None, "", "RollingUpdate") or strategy.get("rollingUpdate") is not None:
        rolling = _part(strategy, "rollingUpdate")
        _set_default(rolling, "maxUnavailable", 1)
        _set_default(rolling, "maxSurge", 1)
    return rolled_back(deployment)


def daemon_set_at_v1(daemon_set: Object) -> Object:
    """A DaemonSet of `extensions` as apps/v1 has it: an annotation says how often its template was changed."""
    default_labels(daemon_set)
    spec = daemon_set["spec"]
    strategy = _part(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = "OnDelete"
    generation = spec.pop("templateGeneration", None) or 0
    _part(_part(daemon_set, "metadata"), "annotations")[_TEMPLATE_GENERATION] = str(generation)
    return daemon_set


def replica_set_at_v1(replica_set: Object) -> Object:
    """A ReplicaSet of `extensions` as apps/v1 has it."""
    default_labels(replica_set)
    return replica_set


def _set_default(part: Object, name: str, value: int) -> None:
    if part.get(name) is None:
        part[name] = value


def _part(whole: Object, name: str) -> Object:
    """The struct or map of a name, made if there is none."""
    found: Object | None = whole.get(name)
    if found is None:
        found = whole[name] = {}
    return found

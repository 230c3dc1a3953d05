"""Puts right at each start what an initial role or binding lacks; what it has besides stays.

Pure functions of what is stored and what should be. The annotation `rbac.authorization.kubernetes.io/autoupdate` keeps
an object as it is when it is "false".
"""

from __future__ import annotations

from typing import Any

from watchkeeper.authz.rbac.rule import Rule, parse_rules, uncovered

Object = dict[str, Any]

_AUTO_UPDATE = "rbac.authorization.kubernetes.io/autoupdate"


def reconciled(stored: Object, expected: Object) -> Object | None:
    """The stored role or binding with what it lacks; None when it lacks nothing or is not to be touched."""
    metadata = stored["metadata"]
    if (metadata.get("annotations") or {}).get(_AUTO_UPDATE) == "false":
        return None
    changes = _rules(stored, expected) if "rules" in expected else _subjects(stored, expected)
    more = {
        part: {**expected["metadata"].get(part, {}), **(metadata.get(part) or {})} for part in ("labels", "annotations")
    }
    if any(more[part] != (metadata.get(part) or {}) for part in more):
        changes["metadata"] = {**metadata, **more}
    return {**stored, **changes} if changes else None


def _rules(stored: Object, expected: Object) -> Object:
    aggregation, wanted = stored.get("aggregationRule"), expected.get("aggregationRule")
    if wanted is not None:
        return _aggregation(aggregation, wanted)
    changes: Object = {} if aggregation is None else {"aggregationRule": None}
    rules = stored.get("rules") or []
    if rules != expected["rules"] and (missing := uncovered(parse_rules(stored), parse_rules(expected))):
        changes["rules"] = [*rules, *map(_as_object, missing)]
    return changes


def _aggregation(stored: Object | None, expected: Object) -> Object:
    """What a role collects; its rules belong to whoever does that."""
    selectors = (stored or {}).get("clusterRoleSelectors") or []
    missing = [each for each in expected["clusterRoleSelectors"] if each not in selectors]
    return {"aggregationRule": {"clusterRoleSelectors": [*selectors, *missing]}} if missing else {}


def _as_object(rule: Rule) -> Object:
    found = {
        "apiGroups": rule.api_groups,
        "resources": rule.resources,
        "resourceNames": rule.resource_names,
        "nonResourceURLs": rule.non_resource_urls,
        "verbs": rule.verbs,
    }
    return {name: list(values) for name, values in found.items() if values}


def _subjects(stored: Object, expected: Object) -> Object:
    subjects = stored.get("subjects") or []
    missing = [each for each in expected.get("subjects") or [] if each not in subjects]
    return {"subjects": [*subjects, *missing]} if missing else {}


_SPLIT = {"system:public-info-viewer": "system:discovery"}
"""Bindings of what another one gave in older clusters."""


def split_from(expected: Object) -> str:
    """The name of the binding that this one is a part of, "" if it is of none."""
    return _SPLIT.get(expected["metadata"]["name"], "") if expected["kind"] == "ClusterRoleBinding" else ""


def split(expected: Object, source: Object) -> Object:
    """A binding that is not there yet, for those to whom the operator has given what it is a part of."""
    metadata = {part: source["metadata"].get(part) or {} for part in ("labels", "annotations")}
    return {**expected, "metadata": {**expected["metadata"], **metadata}, "subjects": source.get("subjects") or []}

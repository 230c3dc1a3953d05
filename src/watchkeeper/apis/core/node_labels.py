"""Node labels that have newer names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.validation.names import is_label_value

_MESSAGES = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": ('deprecated since v1.17; use "topology.kubernetes.io/region" instead'),
    "failure-domain.beta.kubernetes.io/zone": 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
    "beta.kubernetes.io/instance-type": 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": ("deprecated since v1.22; use Taints and Tolerations instead"),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def node_label_message(key: str) -> str:
    """What to use instead of a deprecated node label; "" for any other label."""
    return _MESSAGES.get(key, "")


def label_selector_warnings(selector: Mapping[str, Any] | None, path: str) -> list[str]:
    """Warnings about a label selector of nodes."""
    selector, found = selector or {}, []
    for i, expression in enumerate(selector.get("matchExpressions") or ()):
        key = expression.get("key") or ""
        if message := node_label_message(key):
            found.append(f"{path}.matchExpressions[{i}].key: {key} is {message}")
    labels = sorted(selector.get("matchLabels") or ())
    return found + [f"{path}.matchLabels.{key}: {text}" for key in labels if (text := node_label_message(key))]


def node_selector_term_warnings(term: Mapping[str, Any], path: str, *, weighted: bool) -> list[str]:
    """Warnings about a term of a node selector: deprecated labels and, in preferences, values no label can have."""
    found: list[str] = []
    for i, expression in enumerate(term.get("matchExpressions") or ()):
        at, key = f"{path}.matchExpressions[{i}]", expression.get("key") or ""
        if message := node_label_message(key):
            found.append(f"{at}.key: {key} is {message}")
        if weighted:
            for j, value in enumerate(expression.get("values") or ()):
                found += [f"{at}.values[{j}]: {value} is invalid, {text}" for text in is_label_value(value)]
    return found

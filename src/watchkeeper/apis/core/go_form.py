"""Pods, templates and volumes as errors show them: as kube-apiserver's own form of them is written in JSON.

See `validation.internal_form`, which does the same for parts whose few fields their kind spells out itself.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core.go_fields import FIELDS
from watchkeeper.apis.schema_data import object_meta_schema
from watchkeeper.meta.field import in_declared_order, in_key_order
from watchkeeper.runtime.go_order import in_go_order
from watchkeeper.runtime.with_empties import as_sent

_ZEROS = {"s": "", "i": 0, "b": False, "quantity": "0"}
_OF_SECURITY = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
"""Fields of a pod's spec that its security context has in that form."""


def go_form(value: Mapping[str, Any] | None, part: str) -> dict[str, Any]:
    """A value as errors show it; `part` is what it is, such as PodSpec. Raises KeyError for an unknown part."""
    given: Mapping[str, Any] = value or {}
    if part == "PodSpec":
        given = _with_security(given)
    known = {name.lower(): each for name, each in as_sent(given).items()}
    shown: dict[str, Any] = {}
    for name, key, kind in _fields(part):
        if kind == "metadata":
            shown |= _metadata(given.get("metadata") or {})
        else:
            shown[name] = _shown(known.get(key), kind)
    return shown


@functools.cache
def _fields(part: str) -> tuple[tuple[str, str, str], ...]:
    """Name in Go, JSON name in small letters, and kind of each field."""
    found = []
    for text in FIELDS[part].split():
        names, _, kind = text.partition(":")
        name, _, json_name = names.partition("/")
        found.append((name, (json_name or name).lower(), kind or "metadata"))
    return tuple(found)


def _shown(value: Any, kind: str) -> Any:
    if kind[0] == "*":
        return None if value is None else _shown(value, kind[1:])
    if kind[0] == "[":
        return None if value is None else [_shown(item, kind[1:]) for item in value]
    if kind == "{":
        return in_key_order(value)
    if kind == "selector":
        return in_declared_order(value or {})
    if kind in _ZEROS:
        return _ZEROS[kind] if value is None else value
    return go_form(value, kind)


def _with_security(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    moved = {name: spec[name] for name in _OF_SECURITY if name in spec}
    return {**as_sent(spec), "securityContext": {**as_sent(spec.get("securityContext") or {}), **moved}}


def _metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in metadata.items() if value or value == 0}
    found: dict[str, Any] = in_go_order(shown, object_meta_schema())
    return found

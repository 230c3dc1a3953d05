"""Selectable fields of a custom resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from watchkeeper.cel.conversions import format_double
from watchkeeper.meta.fields import SelectorError
from watchkeeper.runtime.jsonpath import JSONPathError, Path, compile_path

Object = dict[str, Any]


def field_labels(fields: Sequence[Object]) -> tuple[str, ...]:
    """The labels by which selectors name the fields."""
    return tuple((field.get("jsonPath") or "").removeprefix(".") for field in fields)


def selectable_fields(fields: Sequence[Object]) -> Callable[[Object], Mapping[str, str]] | None:
    """A function from an object to the values of its selectable fields; None when there are none."""
    paths: list[tuple[str, Path]] = []
    for label, field in zip(field_labels(fields), fields, strict=True):
        try:
            paths.append((label, compile_path(field.get("jsonPath") or "")))
        except JSONPathError:
            continue
    if not paths:
        return None

    def values(obj: Object) -> Mapping[str, str]:
        return {label: _value(path, obj) for label, path in paths}

    return values


def _value(path: Path, obj: Object) -> str:
    try:
        found = path(obj)
    except JSONPathError:
        return ""
    if not found or found[0] is None:
        return ""
    value = found[0]
    if value.__class__ is bool:
        return "true" if value else "false"
    return format_double(value) if value.__class__ is float else str(value)


def label_converter(labels: tuple[str, ...], *, namespaced: bool) -> Callable[[str, str], tuple[str, str]]:
    """Checks field labels of selectors. Raises SelectorError in the reference's words."""
    known = frozenset({"metadata.name", *(("metadata.namespace",) if namespaced else ()), *labels})

    def convert(label: str, value: str) -> tuple[str, str]:
        if label not in known:
            raise SelectorError(f"field label not supported: {label}")
        return label, value

    return convert

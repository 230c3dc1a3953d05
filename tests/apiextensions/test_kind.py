"""A custom kind is a kind in every respect."""

from __future__ import annotations

import dataclasses

from watchkeeper.apiextensions.serving.kind import CustomKind
from watchkeeper.apiextensions.serving.version import CompiledVersion
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.scheme import Kind


def test_a_custom_kind_has_every_attribute_of_a_kind() -> None:
    kind = CustomKind(CompiledVersion(GroupVersionKind("example.io", "v1", "Widget"), b'{"type":"object"}'))
    missing = [field.name for field in dataclasses.fields(Kind) if not hasattr(kind, field.name)]
    assert missing == []

"""Annotations that an object loses where it is decoded."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any


def drop_annotations(obj: dict[str, Any], names: AbstractSet[str]) -> None:
    """Remove annotations from an object, in place, and the last one with the map of them."""
    meta = obj.get("metadata")
    annotations = meta.get("annotations") if meta else None
    if not annotations or names.isdisjoint(annotations):
        return
    assert meta is not None
    kept = {name: text for name, text in annotations.items() if name not in names}
    if kept:
        meta["annotations"] = kept
    else:
        del meta["annotations"]

"""Server-side tables (metav1.Table): rows of cells for people, made from a kind's columns."""

from __future__ import annotations

from typing import Any

from watchkeeper.apis.behavior import Column, Object, TableSpec

NAME_DESCRIPTION = (
    "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a"
    " client to request the generation of an appropriate name automatically. Name is primarily intended for creation"
    " idempotence and configuration definition. Cannot be updated. More info:"
    " https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
_CREATED_DESCRIPTION = (
    "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed"
    " to be set in happens-before order across separate operations. Clients may not set this value. It is represented"
    " in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info:"
    " https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata"
)

_NEVER = "0001-01-01T00:00:00Z"
"""The zero time as Go writes it: that of an object which was not created, such as a bookmark's."""


def _default_cells(obj: Object, now: float) -> list[Any]:
    meta = obj["metadata"]
    return [meta.get("name", ""), meta.get("creationTimestamp") or _NEVER]


DEFAULT_TABLE = TableSpec(
    columns=(
        Column("Name", "string", NAME_DESCRIPTION, format="name"),
        Column("Created At", "date", _CREATED_DESCRIPTION),
    ),
    cells=_default_cells,
)
"""What a kind without columns of its own shows."""


def partial_metadata(obj: Object, version: str = "v1", without: tuple[str, ...] = ()) -> Object:
    """The object as PartialObjectMetadata, `without` some annotations."""
    meta = obj["metadata"]
    annotations = meta.get("annotations") if without else None
    if annotations:
        meta = dict(meta)
        kept = {key: value for key, value in annotations.items() if key not in without}
        if kept:
            meta["annotations"] = kept
        else:
            del meta["annotations"]
    return {"kind": "PartialObjectMetadata", "apiVersion": f"meta.k8s.io/{version}", "metadata": meta}


def row(obj: Object, spec: TableSpec, now: float, shown: Object | None) -> Object:
    """One row. `shown` is what the row carries as its object, None for nothing."""
    found: Object = {"cells": spec.cells(obj, now)}
    if spec.conditions is not None:
        conditions = spec.conditions(obj)
        if conditions:
            found["conditions"] = conditions
    found["object"] = shown
    return found

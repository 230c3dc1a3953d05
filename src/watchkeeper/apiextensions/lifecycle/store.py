"""The registry store of definitions: a DELETE marks them, their instances go, and then they go themselves."""

from __future__ import annotations

from typing import Any

from watchkeeper.apiextensions.definition.conditions import TERMINATING, condition, set_condition
from watchkeeper.apiextensions.definition.model import FINALIZER
from watchkeeper.registry.metadata import now_text
from watchkeeper.registry.rest import DeleteOptions
from watchkeeper.registry.staged import StagedStore

Object = dict[str, Any]

_PENDING = condition(
    TERMINATING,
    "True",
    "InstanceDeletionPending",
    "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
)


class DefinitionStore(StagedStore):
    """The store of CustomResourceDefinitions."""

    def mark_terminating(self, obj: Object, options: DeleteOptions) -> None:
        """Make a definition one that is to go once its instances are gone."""
        mark_terminating(obj, now_text())


def mark_terminating(definition: Object, now: str) -> None:
    """Make a definition, in place, one that is to go once its instances are gone."""
    meta = definition["metadata"]
    meta.setdefault("deletionTimestamp", now)
    finalizers = meta.get("finalizers") or []
    if FINALIZER not in finalizers:
        meta["finalizers"] = [*finalizers, FINALIZER]
    set_condition(definition, _PENDING, now)

"""Who owns the fields of what the server writes by itself, told as of any other client's writes."""

from __future__ import annotations

from typing import Any

from watchkeeper.runtime.managedfields import FieldManager
from watchkeeper.runtime.scheme import Scheme, gvk_of
from watchkeeper.server.field_managers import field_manager_for

Object = dict[str, Any]

SERVER = "kube-apiserver"
"""What the server's own writes go by, where no part of it has a name of its own."""


class Ownership:
    """Records the server's writes of built-in kinds. Objects are complete, of the hub version, and say their kind."""

    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme
        self._fields: dict[tuple[str, str, str], FieldManager] = {}

    def created(self, obj: Object, manager: str = SERVER) -> Object:
        """A new object with its record. Changes its metadata in place."""
        return self._of(obj).update(None, obj, manager)

    def changed(self, live: Object, new: Object, manager: str = SERVER, *, subresource: str = "") -> Object:
        """What is made of an object, with its record; neither is changed."""
        return self._of(live, subresource).update(live, {**new, "metadata": dict(new["metadata"])}, manager)

    def applied(self, live: Object, part: Object, manager: str, *, subresource: str = "") -> Object:
        """An object into which a part of one is merged, come what may, with its record."""
        return self._of(live, subresource).apply_part(live, part, manager)

    def _of(self, obj: Object, subresource: str = "") -> FieldManager:
        key = obj["apiVersion"], obj["kind"], subresource
        found = self._fields.get(key)
        if found is None:
            kind = self._scheme.kind(gvk_of(obj))
            made = field_manager_for(self._scheme, kind, kind.hub, subresource)
            assert made is not None
            found = self._fields[key] = made
        return found

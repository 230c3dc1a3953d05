"""Handlers made of functions."""

from __future__ import annotations

from collections.abc import Callable

from watchkeeper.client.indexer import key_of
from watchkeeper.client.interface import DeletedFinalStateUnknown, Object


class KeyHandler:
    """Calls one function with the key of whatever has been added, changed or deleted, such as a queue's `add`."""

    def __init__(self, take: Callable[[str], None], *, wants: Callable[[Object], bool] | None = None) -> None:
        """`wants`: which objects are of interest; an update is if its old or its new state is."""
        self._take = take
        self._wants = wants or (lambda _obj: True)

    def on_add(self, obj: Object, *, is_in_initial_list: bool) -> None:
        """A new object."""
        if self._wants(obj):
            self._take(key_of(obj))

    def on_update(self, old: Object, new: Object) -> None:
        """A changed one."""
        if self._wants(new) or self._wants(old):
            self._take(key_of(new))

    def on_delete(self, obj: Object | DeletedFinalStateUnknown) -> None:
        """One that is gone."""
        if isinstance(obj, DeletedFinalStateUnknown):
            if self._wants(obj.object):
                self._take(obj.key)
        elif self._wants(obj):
            self._take(key_of(obj))


class OwnerHandler:
    """Calls a function with the key of the controller that owns whatever has changed, if it is of a kind."""

    def __init__(self, take: Callable[[str], None], *, api_version: str, kind: str) -> None:
        """The owner's group and kind count, its version does not."""
        self._take = take
        self._group = api_version.rpartition("/")[0]
        self._kind = kind

    def on_add(self, obj: Object, *, is_in_initial_list: bool) -> None:
        """A new dependent."""
        self._look(obj)

    def on_update(self, old: Object, new: Object) -> None:
        """A changed one, which may have changed hands."""
        self._look(old)
        self._look(new)

    def on_delete(self, obj: Object | DeletedFinalStateUnknown) -> None:
        """One that is gone."""
        self._look(obj.object if isinstance(obj, DeletedFinalStateUnknown) else obj)

    def _look(self, obj: Object) -> None:
        meta = obj["metadata"]
        for owner in meta.get("ownerReferences") or ():
            group = str(owner.get("apiVersion") or "").rpartition("/")[0]
            if owner.get("controller") and (group, owner.get("kind")) == (self._group, self._kind):
                namespace = meta.get("namespace")
                self._take(f"{namespace}/{owner['name']}" if namespace else owner["name"])

"""The object of a write and its old state at a version that a rule names (apiserver's VersionedAttributes)."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass

from watchkeeper.admission.interface import Attributes, Object
from watchkeeper.meta.errors import internal_error
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.scheme import NotRegistered, gvk_of
from watchkeeper.runtime.with_empties import as_shown


@dataclass(frozen=True, slots=True)
class Versioned:
    """Both objects at one version. Neither may be changed in place."""

    kind: GroupVersionKind
    obj: Object | None
    old: Object | None


class VersionedObjects:
    """The objects of one write at the versions that have been asked for; each is made once.

    For as long as `Attributes.obj` stays what it is: mutating plugins make a new one after each change, or call
    `replace`.
    """

    __slots__ = ("_attributes", "_found", "_old")

    def __init__(self, attributes: Attributes) -> None:
        self._attributes = attributes
        self._found: dict[GroupVersionKind, Versioned] = {}
        self._old: dict[GroupVersionKind, Object | None] = {}

    async def at(self, kind: GroupVersionKind) -> Versioned:
        """Both objects at a version. Raises ApiError; a 500 for a version that nobody knows."""
        found = self._found.get(kind)
        if found is None:
            if kind not in self._old:
                self._old[kind] = await self._convert(self._attributes.old, kind)
            found = Versioned(kind, await self._convert(self._attributes.obj, kind), self._old[kind])
            self._found[kind] = found
        return found

    async def replace(self, decoded: Object, kind: GroupVersionKind) -> None:
        """Put an object that was changed at version `kind`, and decoded, in the place of `Attributes.obj`.

        Fills in defaults first. Raises ApiError.
        """
        attributes = self._attributes
        assert attributes.obj is not None
        self._found.clear()
        if attributes.versions is None:
            attributes.obj = decoded
            return
        restored = attributes.versions.restore(decoded, gvk_of(attributes.obj))
        attributes.obj = await restored if isinstance(restored, Awaitable) else restored

    async def _convert(self, obj: Object | None, kind: GroupVersionKind) -> Object | None:
        versions = self._attributes.versions
        obj = as_shown(obj)
        if obj is None or versions is None:
            return obj
        try:
            found = versions.convert(obj, kind)
        except NotRegistered as problem:
            raise internal_error(str(problem)) from problem
        return await found if isinstance(found, Awaitable) else found

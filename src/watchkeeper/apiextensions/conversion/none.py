"""The conversion that changes nothing but apiVersion."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta.gvk import GroupVersion

Object = dict[str, Any]


class NoneConverter:
    """Says that an object is of another version, and leaves it as it is."""

    is_local = True

    def convert_nowait(self, obj: Object, to: GroupVersion) -> Object:
        """The same object, changed in place."""
        obj["apiVersion"] = str(to)
        return obj

    async def convert(self, obj: Object, to: GroupVersion) -> Object:
        """The same object, changed in place."""
        return self.convert_nowait(obj, to)

    def close(self) -> None:
        """Holds nothing."""

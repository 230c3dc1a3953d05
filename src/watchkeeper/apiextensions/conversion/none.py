"""The conversion that changes nothing but apiVersion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watchkeeper.meta.gvk import GroupVersion

Object = dict[str, Any]


class NoneConverter:
    """Says that an object is of another version, and leaves it as it is."""

    is_local = True

    def convert_nowait(self, objects: Sequence[Object], to: GroupVersion) -> list[Object]:
        """The same objects, changed in place."""
        version = str(to)
        for obj in objects:
            obj["apiVersion"] = version
        return list(objects)

    async def convert(self, objects: Sequence[Object], to: GroupVersion) -> list[Object]:
        """The same objects, changed in place."""
        return self.convert_nowait(objects, to)

    def close(self) -> None:
        """Holds nothing."""

"""What the rest asks of a conversion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from watchkeeper.meta.gvk import GroupVersion

Object = dict[str, Any]


class Converter(Protocol):
    """Converts objects of one custom resource. Objects given are consumed."""

    is_local: bool
    """Whether `convert_nowait` can be used: nobody else has to be asked."""

    def convert_nowait(self, objects: Sequence[Object], to: GroupVersion) -> list[Object]:
        """The objects at another version, in their order. Only for local converters."""
        ...

    async def convert(self, objects: Sequence[Object], to: GroupVersion) -> list[Object]:
        """The same, by whatever means. Raises ApiError."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...

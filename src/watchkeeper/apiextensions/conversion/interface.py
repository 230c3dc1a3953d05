"""What the rest asks of a conversion."""

from __future__ import annotations

from typing import Any, Protocol

from watchkeeper.meta.gvk import GroupVersion

Object = dict[str, Any]


class Converter(Protocol):
    """Converts objects of one custom resource. An object given is consumed."""

    is_local: bool
    """Whether `convert_nowait` can be used: nobody else has to be asked."""

    def convert_nowait(self, obj: Object, to: GroupVersion) -> Object:
        """An object at another version. Only for local converters."""
        ...

    async def convert(self, obj: Object, to: GroupVersion) -> Object:
        """The same, by whatever means. Raises ApiError."""
        ...

    def close(self) -> None:
        """Free what it holds."""
        ...

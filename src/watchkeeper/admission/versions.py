"""Objects at other versions, as far as the scheme converts them: all built-in kinds."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import orjson

from watchkeeper.admission.interface import Object
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.codec import OtherKind, decode_as_said
from watchkeeper.runtime.scheme import Kind, Scheme, gvk_of


class SchemeVersions:
    """Implements `ObjectVersions` by a scheme."""

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme

    def kind(self, gvk: GroupVersionKind) -> Kind:
        """A kind at a version. Raises NotRegistered."""
        return self.scheme.kind(gvk)

    def convert(self, obj: Object, to: GroupVersionKind) -> Object | Awaitable[Object]:
        """Through the hub, at once."""
        if gvk_of(obj) == to:
            return obj
        copied: Object = orjson.loads(orjson.dumps(obj))
        return self.scheme.convert(copied, to)

    def decode(self, obj: Any, kind: GroupVersionKind) -> Object:
        """By the decoder of what the object says it is, which without a word is `kind`."""
        try:
            return decode_as_said(self.scheme, self.kind(kind), obj)
        except OtherKind as problem:
            raise ApiError(500, "", str(problem)) from problem

    def restore(self, obj: Object, to: GroupVersionKind) -> Object | Awaitable[Object]:
        """Defaulted at its own version, then converted."""
        default = self.kind(gvk_of(obj)).default
        if default is not None:
            default(obj)
        return self.convert(obj, to)

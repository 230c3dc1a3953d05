"""Objects at other versions, as far as the scheme converts them: all built-in kinds."""

from __future__ import annotations

from collections.abc import Awaitable

import orjson

from watchkeeper.admission.interface import Object
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.scheme import DecodeError, Scheme, gvk_of


class SchemeVersions:
    """Implements `ObjectVersions` by a scheme."""

    def __init__(self, scheme: Scheme) -> None:
        self.scheme = scheme

    def convert(self, obj: Object, to: GroupVersionKind) -> Object | Awaitable[Object]:
        """Through the hub, at once."""
        if gvk_of(obj) == to:
            return obj
        copied: Object = orjson.loads(orjson.dumps(obj))
        return self.scheme.convert(copied, to)

    def decode(self, obj: Object, kind: GroupVersionKind) -> Object:
        """By the decoder of the kind; what says that it is something else is refused."""
        found = gvk_of(obj)
        if not found.kind:
            raise DecodeError(f"Object 'Kind' is missing in '{orjson.dumps(obj).decode()}'")
        if found != kind and (found.kind != kind.kind or found.version):
            raise DecodeError(f"converting ({found}) to ({kind}): unknown conversion")
        decoded = self.scheme.kind(kind).decode(obj, None)
        decoded["kind"], decoded["apiVersion"] = kind.kind, kind.api_version
        return decoded

    def restore(self, obj: Object, to: GroupVersionKind) -> Object | Awaitable[Object]:
        """Defaulted at its own version, then converted."""
        default = self.scheme.kind(gvk_of(obj)).default
        if default is not None:
            default(obj)
        return self.convert(obj, to)

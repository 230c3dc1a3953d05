"""Opens the storage of built-in resources: how they are encoded, and how older versions of them are read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from watchkeeper.apis.protobuf import object_of
from watchkeeper.apis.stored_versions import current_form, takes_defaults
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.builtin import StorageSpec
from watchkeeper.runtime.raw_json import raw_paths
from watchkeeper.runtime.scheme import Scheme, gvk_of
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.factory import StorageFactory
from watchkeeper.storage.filling_codec import FillingCodec
from watchkeeper.storage.interface import Interface, ObjectCodec, StoredObject
from watchkeeper.storage.raw_codec import RawCodec

log = logging.getLogger(__name__)

Object = dict[str, Any]
Completion = Callable[[Object], None]
"""Changes an object at its hub version in place."""


class ResourceStorage:
    """The storages of one factory, for the kinds of one scheme."""

    def __init__(
        self, factory: StorageFactory, scheme: Scheme, completions: Mapping[GroupResource, Completion] | None = None
    ) -> None:
        """`completions`: what else is filled in where an object that another server has stored is read."""
        self._factory = factory
        self._scheme = scheme
        self._completions = dict(completions or {})

    def open(self, spec: StorageSpec) -> Interface:
        """The storage of a resource."""
        behavior = spec.behavior
        options: dict[str, Any] = {"decode_old": self._decode_old(spec), "protobuf": object_of}
        filled = behavior.extra.get("filled_ends")
        raw = raw_paths(self._scheme.kind(spec.kind).schema)
        if filled is not None:
            options |= {"stored": filled[0], "shown": filled[1]}
        elif raw:
            options["raw_paths"] = raw
        kind_of_codec = RawCodec if raw else JsonCodec if filled is None else FillingCodec
        codec = kind_of_codec(spec.kind, behavior.selectable_fields, **options)
        fields = (behavior.trigger_field,) if behavior.trigger_field else ()
        return self._factory.storage(spec.resource, codec, index_fields=fields)

    def _decode_old(self, spec: StorageSpec) -> Callable[[Object], Object]:
        complete = self._completions.get(spec.resource)

        def decode(obj: Object) -> Object:
            has_defaults = takes_defaults(gvk_of(obj))
            obj = current_form(obj)
            kind = self._scheme.kind(gvk_of(obj))
            decoded = kind.decode(obj, None)
            if kind.default is not None and has_defaults:
                kind.default(decoded)
            converted = self._scheme.convert(decoded, spec.kind)
            if complete is not None:
                complete(converted)
            return converted

        return decode

    async def readable(self, resource: GroupResource, codec: ObjectCodec) -> list[Object]:
        """The stored objects that can be read; what cannot is logged."""
        assert isinstance(codec, JsonCodec)
        found: list[Object] = []
        async for item in self._factory.scan(resource, codec):
            if isinstance(item, StoredObject):
                found.append(item.data())
            else:
                log.error("not everything is known of %s: %s", resource, item)
        return found

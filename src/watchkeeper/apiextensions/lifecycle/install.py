"""Installs definitions that come from files, as `watchkeeper serve --crds DIR` does at start."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

from watchkeeper.apiextensions.lifecycle.controller import DefinitionController
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.rest import Context, CreateOptions, UpdateOptions
from watchkeeper.registry.store import Store
from watchkeeper.request.user import LOOPBACK
from watchkeeper.runtime.scheme import DecodeError, Kind
from watchkeeper.storage.interface import StoredObject

Object = dict[str, Any]

_CONTEXT = Context(user=LOOPBACK)
_PATIENCE = 10.0
_CARRIED = ("labels", "annotations")


class InstallError(Exception):
    """A definition that cannot be served; the message says which and why."""


async def install_definitions(
    definitions: list[Object], store: Store, kind: Kind, controller: DefinitionController
) -> None:
    """Create each definition, or bring it to the spec given, and wait until all are served. Raises InstallError."""
    written = [await _install(definition, store, kind) for definition in definitions]
    missing: list[str] = []
    for stored in written:
        name = stored.key.rpartition("/")[2]
        try:
            async with asyncio.timeout(_PATIENCE):
                served = await controller.wait_for(name, stored.resource_version)
        except TimeoutError:
            served = False
        if not (served and controller.is_established(name)):
            missing.append(name)
    if missing:
        text = "not established; see status.conditions"
        raise InstallError(f"{', '.join(missing)}: {text}")


async def _install(definition: Object, store: Store, kind: Kind) -> StoredObject:
    name = str((definition.get("metadata") or {}).get("name") or "")
    try:
        obj = kind.decode(copy.deepcopy(definition), None)
        obj["kind"], obj["apiVersion"] = kind.gvk.kind, kind.gvk.api_version
        if kind.default is not None:
            kind.default(obj)
        if definition.get("apiVersion") != kind.gvk.api_version:
            raise InstallError(f"{name}: apiVersion is {definition.get('apiVersion')!r}, not {kind.gvk.api_version}")
        try:
            result = await store.create(_CONTEXT, copy.deepcopy(obj), CreateOptions())
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            result, _ = await store.update(_CONTEXT, name, _Replacement(obj), UpdateOptions())
    except (DecodeError, ApiError) as error:
        raise InstallError(f"{name}: {error.message if isinstance(error, ApiError) else error}") from error
    assert isinstance(result, StoredObject)
    return result


class _Replacement:
    """The stored definition with the spec, labels and annotations of a file."""

    uid: str | None = None

    def __init__(self, wanted: Object) -> None:
        self._wanted = wanted

    async def __call__(self, current: StoredObject | None) -> Object:
        assert current is not None
        obj = current.data()
        obj["spec"] = copy.deepcopy(self._wanted["spec"])
        for key in _CARRIED:
            more = (self._wanted.get("metadata") or {}).get(key)
            if more:
                obj["metadata"][key] = {**(obj["metadata"].get(key) or {}), **more}
        return obj

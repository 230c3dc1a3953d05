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
_AT_ONCE = 32
"""How many are written together, so that storage can commit them together."""
_CARRIED = ("labels", "annotations")


class InstallError(Exception):
    """A definition that cannot be served; the message says which and why."""


async def install_definitions(
    definitions: list[Object], store: Store, kind: Kind, controller: DefinitionController
) -> None:
    """Create each definition, or bring it to the spec given, and wait until all are served. Raises InstallError.

    The definitions are taken over: they are changed in place.
    """
    written: list[StoredObject] = []
    for first in range(0, len(definitions), _AT_ONCE):
        batch = definitions[first : first + _AT_ONCE]
        outcomes = await asyncio.gather(*(_install(each, store, kind) for each in batch), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
            written.append(outcome)
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
    api_version = definition.get("apiVersion")
    try:
        obj = kind.decode(definition, None)
        obj["kind"], obj["apiVersion"] = kind.gvk.kind, kind.gvk.api_version
        if kind.default is not None:
            kind.default(obj)
        if api_version != kind.gvk.api_version:
            raise InstallError(f"{name}: apiVersion is {api_version!r}, not {kind.gvk.api_version}")
        result = await _write(obj, name, store)
    except (DecodeError, ApiError) as error:
        raise InstallError(f"{name}: {error.message if isinstance(error, ApiError) else error}") from error
    assert isinstance(result, StoredObject)
    return result


async def _write(obj: Object, name: str, store: Store) -> StoredObject | Object:
    """Create a definition, or change it if need be: most have been installed by an earlier start."""
    replacement = _Replacement(obj)
    try:
        current = await store.get(_CONTEXT, name, "0")
    except ApiError as error:
        if error.reason != "NotFound":
            raise
        try:
            return await store.create(_CONTEXT, obj, CreateOptions())
        except ApiError as conflict:
            if conflict.reason != "AlreadyExists":
                raise
    else:
        if replacement.says_what(current.data()):
            return current
    result, _ = await store.update(_CONTEXT, name, replacement, UpdateOptions())
    return result


class _Replacement:
    """The stored definition with the spec, labels and annotations of a file."""

    uid: str | None = None

    def __init__(self, wanted: Object) -> None:
        self._spec = wanted.get("spec")
        meta = wanted.get("metadata") or {}
        self._carried = {key: dict(meta[key]) for key in _CARRIED if meta.get(key)}

    def says_what(self, current: Object) -> bool:
        """Whether a stored definition is what it would become."""
        if current["metadata"].get("deletionTimestamp") or current.get("spec") != self._spec:
            return False
        return all(more.items() <= (current["metadata"].get(key) or {}).items() for key, more in self._carried.items())

    async def __call__(self, current: StoredObject | None) -> Object:
        assert current is not None
        obj = current.data()
        obj["spec"] = copy.deepcopy(self._spec)
        for key, more in self._carried.items():
            obj["metadata"][key] = {**(obj["metadata"].get(key) or {}), **more}
        return obj

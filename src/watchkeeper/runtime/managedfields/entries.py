"""Entries of metadata.managedFields: who owns which fields, how they came to it, at which version, and since when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson

from watchkeeper.meta.field import go_quote
from watchkeeper.runtime.managedfields.field_set import FieldSet, read
from watchkeeper.runtime.managedfields.path import PathError

Object = dict[str, Any]

APPLY = "Apply"
UPDATE = "Update"


class EntryError(ValueError):
    """An entry that cannot be understood. The message is what the reference would say."""


class ManagerId(NamedTuple):
    """What tells the managers of an object apart. An applier has one entry, whatever version it applies."""

    manager: str
    operation: str
    api_version: str
    """Empty for appliers."""
    subresource: str

    def text(self) -> str:
        """The id as JSON, which is what the reference sorts by."""
        named: Object = {"manager": self.manager, "operation": self.operation, "apiVersion": self.api_version}
        named["subresource"] = self.subresource
        return orjson.dumps({k: v for k, v in named.items() if v}).decode()

    def described(self) -> str:
        """The manager as conflicts name it."""
        text = go_quote(self.manager)
        if self.subresource:
            text += f" with subresource {go_quote(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


def manager_id(manager: str, operation: str, api_version: str, subresource: str) -> ManagerId:
    """The id of a manager that does something at a version and subresource."""
    return ManagerId(manager or "unknown", operation, "" if operation == APPLY else api_version, subresource)


class Owned(NamedTuple):
    """What a manager owns."""

    fields: FieldSet
    api_version: str
    """The version that the paths of `fields` are about."""
    time: str | None = None
    applied: bool = False
    entry: Object | None = None
    """The entry as it was read, which is what is written when nothing changes."""

    def with_fields(self, fields: FieldSet) -> Owned:
        """The same with other fields."""
        return self if fields is self.fields else Owned(fields, self.api_version, self.time, self.applied)


Managed = dict[ManagerId, Owned]
"""Everything recorded about one object."""


def is_reset(entries: Any) -> bool:
    """Whether what was sent as managedFields asks to forget everything: an empty list, or a single empty entry."""
    return isinstance(entries, list) and (not entries or (len(entries) == 1 and not _filled(entries[0])))


def _filled(entry: Any) -> bool:
    return not isinstance(entry, dict) or any(v not in (None, "") for v in entry.values())


def decode(entries: Any, *, trusted: bool = False) -> Managed:
    """What entries say. Those that are `trusted`, because this server wrote them, are taken as they are.

    Raises EntryError.
    """
    managed: Managed = {}
    for index, found in enumerate(entries or ()):
        entry = found or {}
        operation, api_version = entry.get("operation"), entry.get("apiVersion")
        if operation != APPLY and operation != UPDATE:
            raise EntryError("operation must be `Apply` or `Update`")
        if not api_version:
            raise EntryError("apiVersion must not be empty")
        _check_type(entry.get("fieldsType"), index)
        applied = operation == APPLY
        identity = ManagerId(
            entry.get("manager") or "", operation, "" if applied else api_version, entry.get("subresource") or ""
        )
        fields = entry.get("fieldsV1")
        if fields is None or not trusted:
            fields = _read(fields)
        managed[identity] = Owned(fields, api_version, entry.get("time"), applied, entry if trusted else None)
    return managed


def _check_type(fields_type: Any, index: int) -> None:
    if fields_type == "FieldsV1":
        return
    if not fields_type:
        raise EntryError(f"missing fieldsType in managed fields entry {index}")
    raise EntryError(f"invalid fieldsType {go_quote(fields_type)} in managed fields entry {index}")


def _read(fields: Any) -> FieldSet:
    try:
        return read(fields)
    except PathError as error:
        raise EntryError(f"error decoding set: {error}") from error


def encode(managed: Managed) -> list[Object]:
    """The entries to write: appliers first, then by time, those without a time before all others."""
    entries = [owned.entry or _entry(identity, owned) for identity, owned in managed.items()]
    if len(entries) > 1:
        entries.sort(key=entry_order)
    return entries


def _entry(identity: ManagerId, owned: Owned) -> Object:
    entry: Object = {}
    if identity.manager:
        entry["manager"] = identity.manager
    entry["operation"] = APPLY if owned.applied else identity.operation
    entry["apiVersion"] = owned.api_version
    if owned.time is not None:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = owned.fields
    if identity.subresource:
        entry["subresource"] = identity.subresource
    return entry


def entry_order(entry: Object) -> tuple[str, ...]:
    """What entries are sorted by."""
    get = entry.get
    return (
        entry["operation"],
        get("time") or "",
        get("manager") or "",
        entry["apiVersion"],
        get("subresource") or "",
    )


def without_empty(managed: Iterable[tuple[ManagerId, Owned]]) -> Managed:
    """Only the managers that own anything."""
    return {identity: owned for identity, owned in managed if owned.fields}


def check_record(entries: Any) -> None:
    """Check that managedFields can be understood, as after a webhook has changed them. Raises EntryError."""
    decode(entries)

"""Follows a resource of another server and tells a controller of the metadata of each object, from the present on."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from typing import Any

from watchkeeper.aio.backoff import Backoff
from watchkeeper.client.dynamic import Event, ResourceClient
from watchkeeper.client.source import ResourceSource
from watchkeeper.reflector.reflector import Reflector

Object = dict[str, Any]


class RemoteSink:
    """Turns lists and changes into calls with metadata: `changed`, `deleted`; after a list `synced` gets all uids."""

    def __init__(
        self,
        *,
        changed: Callable[[Object], None],
        deleted: Callable[[Object], None],
        synced: Callable[[Set[str]], None],
    ) -> None:
        self._changed = changed
        self._deleted = deleted
        self._synced = synced

    def replace(self, items: Sequence[Object], resource_version: str) -> None:
        """The whole state."""
        for item in items:
            self._changed(item["metadata"])
        self._synced({item["metadata"].get("uid", "") for item in items})

    def apply(self, changes: Sequence[Event], resource_version: str) -> None:
        """Changes in order."""
        for kind, obj in changes:
            (self._deleted if kind == "DELETED" else self._changed)(obj["metadata"])

    def interrupted(self, error: Exception) -> None:
        """Nothing to do: a list follows, and what vanished meanwhile is found by comparing."""


def remote_feed(name: str, client: ResourceClient, sink: RemoteSink) -> Reflector[Object, Event]:
    """A Reflector that is to be run as a task. While the server is away it tries again, twice a minute at least."""
    backoff = Backoff(initial=0.2, limit=30.0)
    return Reflector(name, ResourceSource(client), sink, backoff=backoff, may_rewind=True)

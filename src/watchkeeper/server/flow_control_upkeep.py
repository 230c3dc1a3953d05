"""Keeps what flow schemas say of their levels, as kube-apiserver does."""

from __future__ import annotations

import asyncio
import logging
import random

from watchkeeper.aio.pace import Pace
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.endpoints.scope import Scope
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.metadata import now_text
from watchkeeper.registry.store import Store
from watchkeeper.server.flow_control import CONSUMER, dangling_condition
from watchkeeper.server.flow_schemas import FlowSchemas, Object, level_of
from watchkeeper.storage.errors import KeyNotFound, StorageError
from watchkeeper.storage.interface import StoredObject

log = logging.getLogger(__name__)

_WRITES = (6, 60.0)
"""How often a schema is written to, in how many seconds."""
_HELD_BACK = (30.0, 75.0)
"""After how many seconds one that was written to too often is looked at again."""


class FlowControlUpkeep:
    """Writes the condition `Dangling` when a schema or a level has changed."""

    def __init__(self, schemas: FlowSchemas, store: Store, status: Scope) -> None:
        """`status`: the status of flow schemas, which are in `store`."""
        self._schemas = schemas
        self._store = store
        self._status = status
        self._changed = asyncio.Event()
        self._pace = Pace(*_WRITES)
        self._tasks = TaskOwner("flow-control")

    def start(self) -> None:
        """Begin."""
        self._schemas.on_change = self._changed.set
        self._changed.set()
        self._tasks.start("conditions", self._keep_conditions())

    async def close(self) -> None:
        """Keep nothing any more."""
        self._schemas.on_change = lambda: None
        await self._tasks.close()

    async def _keep_conditions(self) -> None:
        """Whoever else writes a condition again and again is not fought: that waits for a while."""
        delay: float | None = None
        while True:
            try:
                async with asyncio.timeout(delay):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            delay = None
            for schema in self._schemas.schemas():
                condition = dangling_condition(level_of(schema), self._schemas.has_level(level_of(schema)), now_text())
                if _says(schema, condition):
                    continue
                if self._pace.take(schema["metadata"]["name"]):
                    await self._write(schema["metadata"]["name"], condition)
                else:
                    delay = random.uniform(*_HELD_BACK)

    async def _write(self, name: str, condition: Object) -> None:
        key, fields = self._store.key("", name), self._status.field_manager
        assert fields is not None

        def change(current: StoredObject | None) -> Object:
            if current is None:
                raise KeyNotFound("it is gone", key)
            return fields.apply_part(current.data(), {"status": {"conditions": [condition]}}, CONSUMER)

        try:
            await self._store.storage.guaranteed_update(key, change)
        except KeyNotFound:
            return
        except (ApiError, StorageError) as error:
            log.warning("cannot tell where %s leads: %s", name, error)


def _says(schema: Object, condition: Object) -> bool:
    conditions = (schema.get("status") or {}).get("conditions") or ()
    current: Object = next((each for each in conditions if each.get("type") == condition["type"]), {})
    return all(current.get(field) == condition[field] for field in ("status", "reason", "message"))

"""`watchkeeper import`: applies manifests to a server that runs."""

from __future__ import annotations

import asyncio
import copy
import time
from collections.abc import Sequence
from itertools import groupby

from watchkeeper.aio.together import together
from watchkeeper.client.dynamic import APPLY_PATCH, DynamicClient, ResourceClient
from watchkeeper.client.errors import ClientError
from watchkeeper.meta.errors import ApiError
from watchkeeper.server.transfer.interface import Object, TransferError, tell
from watchkeeper.server.transfer.order import DEFINITION, group_kind, rank

MANAGER = "watchkeeper-import"
_AT_A_TIME = 16
_ESTABLISHED_SECONDS = 30.0
_POLL_SECONDS = 0.1


class Import:
    """Applies objects in their order, as the manager of all their fields; what fails does not stop the rest."""

    def __init__(self, client: DynamicClient, *, dry_run: bool = False) -> None:
        self._client = client
        self._dry_run = dry_run
        self._applied = self._failed = 0

    async def run(self, objects: Sequence[Object]) -> int:
        """Apply objects, sorted by `order.place`. Returns the exit code. Raises TransferError when nobody answers."""
        for _, group in groupby(objects, rank):
            wave = list(group)
            for start in range(0, len(wave), _AT_A_TIME):
                await together(self._apply(obj) for obj in wave[start : start + _AT_A_TIME])
            if group_kind(wave[0]) == DEFINITION and not self._dry_run:
                await self._wait_for(wave)
        failed = f", {self._failed} failed" if self._failed else ""
        tell(f"{self._applied} objects applied{' (dry run)' if self._dry_run else ''}{failed}")
        return 1 if self._failed else 0

    async def _apply(self, obj: Object) -> None:
        obj = copy.deepcopy(obj)
        obj.pop("status", None)
        meta = obj["metadata"]
        for name in ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"):
            meta.pop(name, None)
        query = {"fieldManager": MANAGER, "force": "true", **({"dryRun": "All"} if self._dry_run else {})}
        try:
            resource = await self._resource(obj)
            if resource.namespace:
                meta["namespace"] = resource.namespace
            await resource.patch(meta["name"], obj, content_type=APPLY_PATCH, **query)
        except ApiError as error:
            self._failed += 1
            where = f" in {meta['namespace']}" if meta.get("namespace") else ""
            tell(f"watchkeeper: {obj['kind']} {meta['name']}{where}: {error}")
        except ClientError as error:
            raise TransferError(str(error)) from error
        else:
            self._applied += 1

    async def _resource(self, obj: Object) -> ResourceClient:
        namespace = obj["metadata"].get("namespace") or self._client.rest.config.namespace
        return await self._client.of_kind(obj["apiVersion"], obj["kind"], namespace=namespace)

    async def _wait_for(self, definitions: Sequence[Object]) -> None:
        """Until their custom resources are served, or it is not worth waiting any longer."""
        end = time.monotonic() + _ESTABLISHED_SECONDS
        for definition in definitions:
            name = definition["metadata"]["name"]
            while not await self._is_established(definition):
                if time.monotonic() > end:
                    self._failed += 1
                    tell(f"watchkeeper: the definition {name} is not established")
                    break
                await asyncio.sleep(_POLL_SECONDS)

    async def _is_established(self, definition: Object) -> bool:
        try:
            found = await (await self._resource(definition)).get(definition["metadata"]["name"])
        except ApiError:
            return True  # it was refused, and that has been told
        except ClientError as error:
            raise TransferError(str(error)) from error
        conditions = (found.get("status") or {}).get("conditions") or ()
        return any(c.get("type") == "Established" and c.get("status") == "True" for c in conditions)

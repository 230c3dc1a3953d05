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
from watchkeeper.server.transfer.interface import Object, TransferError, counted, tell
from watchkeeper.server.transfer.order import DEFINITION, NAMESPACE, group_kind, rank

MANAGER = "watchkeeper-import"
_AT_A_TIME = 16
_ESTABLISHED_SECONDS = 30.0
_POLL_SECONDS = 0.1
_AMBIGUOUS = "duplicate entries for key"
"""What a server says of a list, such as a container's variables, in which a key occurs twice: that may be stored."""


class Import:
    """Applies objects in their order, as the manager of all their fields; what fails does not stop the rest."""

    def __init__(self, client: DynamicClient, *, dry_run: bool = False) -> None:
        self._client = client
        self._dry_run = dry_run
        self._applied = self._failed = self._open = 0
        self._namespaces: set[str] = set()
        self._kinds: set[tuple[str, str]] = set()

    async def run(self, objects: Sequence[Object]) -> int:
        """Apply objects, sorted by `order.place`. Returns the exit code. Raises TransferError when nobody answers."""
        if self._dry_run:
            self._namespaces = {obj["metadata"]["name"] for obj in objects if group_kind(obj) == NAMESPACE}
            self._kinds = {_defined(obj) for obj in objects if group_kind(obj) == DEFINITION}
        for _, group in groupby(objects, rank):
            wave = list(group)
            for start in range(0, len(wave), _AT_A_TIME):
                await together(self._apply(obj) for obj in wave[start : start + _AT_A_TIME])
            if group_kind(wave[0]) == DEFINITION and not self._dry_run:
                await self._wait_for(wave)
        failed = f", {self._failed} failed" if self._failed else ""
        left = f", {self._open} not judged: their namespaces or definitions are to come first" if self._open else ""
        tell(f"{counted(self._applied, 'object')} applied{' (dry run)' if self._dry_run else ''}{failed}{left}")
        return 1 if self._failed else 0

    async def _apply(self, obj: Object) -> None:
        obj = copy.deepcopy(obj)
        obj.pop("status", None)
        meta = obj["metadata"]
        for name in ("managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"):
            meta.pop(name, None)
        try:
            resource = await self._resource(obj)
            if resource.namespace:
                meta["namespace"] = resource.namespace
            await self._write(resource, obj, **({"dryRun": "All"} if self._dry_run else {}))
        except ApiError as error:
            if self._is_to_come(error, obj):
                self._open += 1
                return
            self._failed += 1
            where = f" in {meta['namespace']}" if meta.get("namespace") else ""
            tell(f"watchkeeper: {obj['kind']} {meta['name']}{where}: {error}")
        except ClientError as error:
            raise TransferError(str(error)) from error
        else:
            self._applied += 1

    async def _write(self, resource: ResourceClient, obj: Object, **query: str) -> None:
        """Apply it, or, as lists may have elements that applying cannot tell apart, put it there as a whole."""
        name = obj["metadata"]["name"]
        try:
            await resource.patch(name, obj, content_type=APPLY_PATCH, fieldManager=MANAGER, force="true", **query)
            return
        except ApiError as error:
            if _AMBIGUOUS not in str(error):
                raise
        query["fieldManager"] = MANAGER
        try:
            found = await resource.get(name)
        except ApiError as error:
            if error.code != 404:
                raise
            await resource.create(obj, **query)
        else:
            version = found["metadata"]["resourceVersion"]
            await resource.update({**obj, "metadata": {**obj["metadata"], "resourceVersion": version}}, **query)

    async def _resource(self, obj: Object) -> ResourceClient:
        namespace = obj["metadata"].get("namespace") or self._client.rest.config.namespace
        return await self._client.of_kind(obj["apiVersion"], obj["kind"], namespace=namespace)

    def _is_to_come(self, error: ApiError, obj: Object) -> bool:
        """Whether a dry run cannot tell, because what the object lies in or is defined by was not really applied."""
        if error.code != 404:
            return False
        if group_kind(obj) in self._kinds:
            return True
        details = error.details or {}
        return details.get("kind") == "namespaces" and details.get("name") in self._namespaces

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


def _defined(definition: Object) -> tuple[str, str]:
    spec = definition.get("spec") or {}
    return str(spec.get("group") or ""), str((spec.get("names") or {}).get("kind") or "")

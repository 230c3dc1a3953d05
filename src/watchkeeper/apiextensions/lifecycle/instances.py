"""Deletes all instances of a definition that is to go."""

from __future__ import annotations

import asyncio

from watchkeeper.aio.backoff import Backoff
from watchkeeper.apiextensions.serving.resource import CustomResource
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.rest import Context, DeleteOptions
from watchkeeper.registry.store import Store
from watchkeeper.request.user import LOOPBACK
from watchkeeper.storage.interface import ListOptions

PATIENCE = 60.0
"""Seconds to wait for instances that finalizers hold, before the definition's status tells of it."""


class DeletionProblem(Exception):
    """Instances are left; `reason` and the message are for the condition."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


async def delete_instances(resource: CustomResource, *, patience: float = PATIENCE) -> None:
    """Delete every object and wait until none is left. Raises DeletionProblem."""
    store = resource.storage_store()
    try:
        namespaces = await _namespaces(store)
    except ApiError as error:
        raise DeletionProblem("InstanceDeletionFailed", f"could not list instances: {error.message}") from error
    problems: list[str] = []
    for namespace in namespaces:
        try:
            await store.delete_collection(_context(namespace), DeleteOptions(), ListOptions())
        except ApiError as error:
            problems.append(error.message)
    if problems:
        text = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise DeletionProblem("InstanceDeletionFailed", f"could not issue all deletes: {text}")
    await _wait_until_empty(store, patience)


async def _wait_until_empty(store: Store, patience: float) -> None:
    backoff = Backoff(initial=0.02, limit=1.0)
    try:
        async with asyncio.timeout(patience):
            while True:
                if not await _namespaces(store):
                    break
                await asyncio.sleep(backoff.next())
    except TimeoutError:
        problem = "context deadline exceeded"
    except ApiError as error:
        problem = error.message
    else:
        return
    text = f"could not confirm zero CustomResources remaining: {problem}"
    raise DeletionProblem("InstanceDeletionCheck", text)


async def _namespaces(store: Store) -> list[str]:
    """The namespaces in which there are instances; "" for those of cluster-scoped resources."""
    found = await store.list(_context(""), ListOptions())
    if not store.namespaced:
        return [""] if found.items else []
    return list(dict.fromkeys(item.key.rsplit("/", 2)[1] for item in found.items))


def _context(namespace: str) -> Context:
    return Context(user=LOOPBACK, namespace=namespace)

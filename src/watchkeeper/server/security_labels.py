"""What PodSecurity wants to know of namespaces, read off the bytes they are stored as."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from watchkeeper.admission.podsecurity.level import PREFIX
from watchkeeper.registry.errors import to_api_error
from watchkeeper.registry.store import Store
from watchkeeper.storage.errors import KeyNotFound, StorageError
from watchkeeper.storage.interface import StoredObject

_MARK = PREFIX.encode()
_NONE: Mapping[str, str] = {}


class SecurityLabels:
    """Reads the labels of namespaces. Namespaces that say nothing of PodSecurity are not even parsed."""

    def __init__(self, namespaces: Callable[[], Store]) -> None:
        """`namespaces` finds the store of Namespaces, when it is first needed."""
        self._find = namespaces
        self._store: Store | None = None

    def __call__(self, namespace: str) -> Mapping[str, str] | Awaitable[Mapping[str, str]]:
        """The labels of a namespace, none when it does not exist; an awaitable when memory cannot tell.

        Raises ApiError.
        """
        store = self._store
        if store is None:
            store = self._store = self._find()
        key = f"{store.prefix}/{namespace}"
        found = store.storage.get_nowait(key, resource_version="")
        if found is None:
            # Who shares the store with others takes what its cache has, as kube-apiserver does.
            found = store.storage.get_nowait(key, resource_version="0")
        return _labels(found) if found is not None else self._read(store, key)

    @staticmethod
    async def _read(store: Store, key: str) -> Mapping[str, str]:
        try:
            return _labels(await store.storage.get(key))
        except KeyNotFound:
            return _NONE
        except StorageError as error:
            raise to_api_error(error, store.resource, key.rpartition("/")[2], "get") from error


def _labels(namespace: StoredObject) -> Mapping[str, str]:
    if _MARK not in namespace.tail:
        return _NONE
    labels: Mapping[str, str] = namespace.data()["metadata"].get("labels") or _NONE
    return labels

"""Objects by key and by whatever else they are looked up by: what an informer keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from watchkeeper.client.interface import Object

IndexFunc = Callable[[Object], Iterable[str]]
"""The values that an object is found under in an index."""

NAMESPACE = "namespace"
"""The index that every indexer has."""


def key_of(obj: Object) -> str:
    """`namespace/name`, or `name` for an object of the cluster."""
    meta = obj["metadata"]
    namespace = meta.get("namespace")
    return f"{namespace}/{meta['name']}" if namespace else str(meta["name"])


def split_key(key: str) -> tuple[str, str]:
    """Namespace and name of a key; the namespace is "" for an object of the cluster."""
    namespace, _, name = key.rpartition("/")
    return namespace, name


def by_namespace(obj: Object) -> Iterable[str]:
    """The index function of NAMESPACE."""
    return (str(obj["metadata"].get("namespace") or ""),)


class Indexer:
    """All objects of an informer. Objects are given out as they are kept: copy before changing."""

    def __init__(self, indexers: Mapping[str, IndexFunc] | None = None) -> None:
        """`indexers`: index name -> index function, besides NAMESPACE."""
        self._functions: dict[str, IndexFunc] = {NAMESPACE: by_namespace, **(indexers or {})}
        self._objects: dict[str, Object] = {}
        self._indexes: dict[str, dict[str, dict[str, Object]]] = {name: {} for name in self._functions}

    def __repr__(self) -> str:
        return f"<Indexer of {len(self._objects)} by {', '.join(self._functions)}>"

    def __len__(self) -> int:
        return len(self._objects)

    def get(self, key: str) -> Object | None:
        """The object of a key."""
        return self._objects.get(key)

    def keys(self) -> list[str]:
        """The keys of all objects."""
        return list(self._objects)

    def by_index(self, name: str, value: str) -> list[Object]:
        """All objects that an index has under a value. Raises KeyError for an index that there is none of."""
        return list(self._indexes[name].get(value, {}).values())

    def index_values(self, name: str) -> list[str]:
        """All values of an index. Raises KeyError."""
        return list(self._indexes[name])

    def add_indexers(self, indexers: Mapping[str, IndexFunc]) -> None:
        """Add indexes, also over what is there already. Raises ValueError for a name that is taken."""
        for name in indexers:
            if name in self._functions:
                raise ValueError(f"there is an index {name!r} already")
        for name, function in indexers.items():
            self._functions[name] = function
            self._indexes[name] = {}
            for key, obj in self._objects.items():
                self._index(name, key, obj)

    def set(self, key: str, obj: Object) -> Object | None:
        """Keep an object; returns the one that it replaces."""
        old = self.remove(key)
        self._objects[key] = obj
        for name in self._functions:
            self._index(name, key, obj)
        return old

    def remove(self, key: str) -> Object | None:
        """Forget an object; returns it, if it was there."""
        old = self._objects.pop(key, None)
        if old is not None:
            for name, function in self._functions.items():
                index = self._indexes[name]
                for value in function(old):
                    found = index.get(value)
                    if found is not None:
                        found.pop(key, None)
                        if not found:
                            del index[value]
        return old

    def _index(self, name: str, key: str, obj: Object) -> None:
        index = self._indexes[name]
        for value in self._functions[name](obj):
            index.setdefault(value, {})[key] = obj

    def list(self) -> list[Object]:
        """All objects."""
        return list(self._objects.values())

"""Where the objects of a resource are kept, and how they are read: what the stores of all resources stand on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from watchkeeper.apis.validation.names import is_path_segment_name
from watchkeeper.meta import errors
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.errors import to_api_error
from watchkeeper.registry.rest import Context, Object
from watchkeeper.registry.strategy import Strategy
from watchkeeper.registry.transaction import Hooks
from watchkeeper.storage import errors as storage_errors
from watchkeeper.storage.interface import Interface, ListOptions, ListResult, StoredObject, Watcher, WatchOptions
from watchkeeper.storage.predicate import EVERYTHING, SelectionPredicate

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class StoreConfig:
    """What makes a Store: names, where objects are kept, and what is particular about them."""

    resource: GroupResource
    storage: Interface
    strategy: Strategy
    prefix: str
    """The key under which all objects are, without a trailing slash."""
    ttl: Callable[[Object], int] | None = None
    """Seconds until a stored object vanishes, 0 for never."""
    returns_deleted_object: bool = False
    hooks: Hooks | None = None
    make_blank: Callable[[], Object] | None = None
    """Makes an object with nothing in it, as its kind encodes it."""


class StoredResource:
    """One resource at its hub version, as far as it is read. Implements the reading roles of `registry.rest`."""

    def __init__(self, config: StoreConfig) -> None:
        self.resource = config.resource
        self.storage = config.storage
        self.strategy = config.strategy
        self.kind = config.strategy.kind
        self.namespaced = config.strategy.namespaced
        self.prefix = config.prefix
        self.returns_deleted_object = config.returns_deleted_object
        self.hooks = config.hooks
        self.ttl = config.ttl
        self._make_blank = config.make_blank

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.resource}>"

    def blank(self) -> Object:
        """An object of the kind with nothing in it."""
        if self._make_blank is not None:
            return self._make_blank()
        return {"apiVersion": self.kind.api_version, "kind": self.kind.kind}

    # -- keys -------------------------------------------------------------------------------------------------

    def key(self, namespace: str, name: str) -> str:
        """The storage key of an object. Raises a 400 for names that cannot be a path segment."""
        if self.namespaced:
            if not namespace:
                raise errors.bad_request("Namespace parameter required.")
            return f"{self.prefix}/{namespace}/{_segment(name)}"
        return f"{self.prefix}/{_segment(name)}"

    @staticmethod
    def rehearsed_key(key: str) -> str:
        """A key as refusals of dry runs name it: without what all keys begin with, which only real writes add."""
        return "/" + key.lstrip("/").partition("/")[2]

    def collection(self, namespace: str, predicate: SelectionPredicate = EVERYTHING, *, continued: bool = False) -> str:
        """The key of a collection, or of the one object that the selector names.

        A list that goes on where another ended (`continued`) looks at what is behind that, not at an object by name.
        """
        name = predicate.field.exact("metadata.name") if not (continued or predicate.field.is_empty()) else None
        root = f"{self.prefix}/"
        if self.namespaced:
            namespace = namespace or self._selected_namespace(predicate)
            if namespace:
                root = f"{self.prefix}/{namespace}/"
            else:
                return root
        if name and not is_path_segment_name(name):
            return root + name
        return root

    def _selected_namespace(self, predicate: SelectionPredicate) -> str:
        if predicate.field.is_empty():
            return ""
        found = predicate.field.exact("metadata.namespace")
        return found if found and not is_path_segment_name(found) else ""

    async def translated(self, work: Awaitable[T], name: str, verb: str) -> T:
        """What the work returns; what storage raises in it becomes an ApiError on the object of that name."""
        try:
            return await work
        except storage_errors.StorageError as error:
            raise to_api_error(error, self.resource, name, verb) from error

    # -- reading ----------------------------------------------------------------------------------------------

    def get_nowait(self, ctx: Context, name: str, resource_version: str) -> StoredObject | None:
        """The object when memory can tell at once, else None."""
        return self.storage.get_nowait(self.key(ctx.namespace, name), resource_version=resource_version)

    async def get(self, ctx: Context, name: str, resource_version: str) -> StoredObject:
        """The object. Raises NotFound and what storage raises, as ApiErrors."""
        key = self.key(ctx.namespace, name)
        try:
            return await self.storage.get(key, resource_version=resource_version)
        except storage_errors.StorageError as error:
            raise to_api_error(error, self.resource, name, "get") from error

    async def list(self, ctx: Context, options: ListOptions) -> ListResult:
        """What the options select, in key order."""
        try:
            continued = bool(options.continue_token)
            prefix = self.collection(ctx.namespace, options.predicate, continued=continued)
            return await self.storage.get_list(prefix, options)
        except storage_errors.StorageError as error:
            raise to_api_error(error, self.resource, "", "list") from error

    async def watch(self, ctx: Context, options: WatchOptions) -> Watcher:
        """Events on what the options select."""
        try:
            return await self.storage.watch(self.collection(ctx.namespace, options.predicate), options)
        except storage_errors.StorageError as error:
            raise to_api_error(error, self.resource, "", "watch") from error


def _segment(name: str) -> str:
    """The name, if it can be a path segment; else a 400."""
    if not name:
        raise errors.bad_request("Name parameter required.")
    wrong = is_path_segment_name(name)
    if wrong:
        raise errors.bad_request(f'Name parameter invalid: "{name}": {";".join(wrong)}')
    return name

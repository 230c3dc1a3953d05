"""Objects as they lie in a database file or an etcd, read past any server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

from watchkeeper.authn.service_account_tokens import ServiceAccountTokens
from watchkeeper.authn.static_tokens import StaticTokens
from watchkeeper.authn.union import TokenUnion
from watchkeeper.authz.rbac.policy import Policy
from watchkeeper.authz.union import AlwaysAllow
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.server.assembly import Assembly, AssemblyOptions
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.service_account_keys import service_account_keys
from watchkeeper.server.storage import open_factory, storage_factory
from watchkeeper.server.transfer.interface import Object, TransferError, Unreadable, Unserved
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.errors import CorruptObject, StorageError
from watchkeeper.storage.factory import StorageFactory
from watchkeeper.storage.interface import StoredObject

_NAMESPACES = GroupResource("", "namespaces")


class StoreSource:
    """Reads everything that a server with these options would serve, and writes nothing."""

    def __init__(self, options: ServeOptions) -> None:
        """`options`: where the store is, and how it is encrypted; the rest does not matter."""
        self._options = replace(options, read_only=True)

    async def objects(self, namespace: str) -> AsyncIterator[Object | Unreadable | Unserved]:
        """Resource by resource, each at one revision; broken objects are reported one by one.

        Behind all objects of all namespaces comes what is of no resource.
        """
        self._require_file()
        empty = True
        try:
            factory = storage_factory(self._options)
            try:
                await open_factory(factory)
                assembly = Assembly(factory, _assembly_options(self._options))
                try:
                    async for found in _read(assembly, factory, namespace):
                        empty = False
                        yield found
                finally:
                    await assembly.close()
            finally:
                await factory.close()
        except StartupError as error:
            raise TransferError(str(error)) from error
        except StorageError as error:
            raise TransferError(f"{self._options.storage_url}: {error}") from error
        if namespace and empty:
            raise TransferError(f"{self._options.storage_url}: there is no namespace {namespace!r}")

    def _require_file(self) -> None:
        kind, _, path = self._options.storage_url.partition(":")
        if kind == "sqlite" and not Path(path).exists():
            raise TransferError(f"{path}: there is no such file")


def _assembly_options(options: ServeOptions) -> AssemblyOptions:
    signer = ServiceAccountTokens(service_account_keys(options.data_dir, checked=False), "nobody")  # signs nothing
    tokens = TokenUnion(StaticTokens({}), [signer])
    return AssemblyOptions(authorizer=AlwaysAllow(), resolver=Policy(), tokens=tokens, signer=signer, read_only=True)


async def _read(
    assembly: Assembly, factory: StorageFactory, namespace: str
) -> AsyncIterator[Object | Unreadable | Unserved]:
    prefixes = []
    for store in assembly.registry.stores():
        prefixes.append(factory.prefix(store.resource))
        if store.namespaced or not namespace or store.resource == _NAMESPACES:
            async for found in _scan(factory, store.resource, store.storage.codec, namespace):
                yield found
    assembly.custom.start()
    await assembly.custom.wait()
    for custom in list(assembly.custom.resources):
        defined = custom.defined
        prefixes.append(custom.prefix)
        if defined.namespaced or not namespace:
            resource = GroupResource(defined.group, defined.plural)
            async for found in _scan(factory, resource, custom.base.codec, namespace):
                yield found
    if not namespace:
        async for left in factory.strangers(prefixes):
            yield Unserved(left.place, left.count)


async def _scan(
    factory: StorageFactory, resource: GroupResource, codec: object, namespace: str
) -> AsyncIterator[Object | Unreadable]:
    assert isinstance(codec, JsonCodec)
    own = f"{factory.prefix(resource)}/{namespace}" if namespace else ""
    async for item in factory.scan(resource, codec):
        key = item.key
        if namespace and not (key == own if resource == _NAMESPACES else key.startswith(f"{own}/")):
            continue
        if isinstance(item, StoredObject):
            yield item.data()
        else:
            assert isinstance(item, CorruptObject)
            yield Unreadable(key, item.cause)

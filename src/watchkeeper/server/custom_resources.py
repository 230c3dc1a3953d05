"""Custom resources in a server: what they take from it, and how they come into it."""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.aio.together import close_all
from watchkeeper.apiextensions.definition.behavior import DEFINITION_BEHAVIOR
from watchkeeper.apiextensions.definition.defaults import set_defaults
from watchkeeper.apiextensions.definition.model import GROUP, KIND
from watchkeeper.apiextensions.lifecycle.controller import DefinitionController
from watchkeeper.apiextensions.lifecycle.store import DefinitionStore
from watchkeeper.apiextensions.serving.resource import converter_of
from watchkeeper.apiextensions.serving.table import CustomResources
from watchkeeper.apis.behavior import Behaviors
from watchkeeper.endpoints.discovery import Discovery
from watchkeeper.endpoints.openapi.documents import OpenAPI
from watchkeeper.endpoints.scope import FieldManager, ServedResource, ServedTable, Services
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.registry.store import StatusStore, Store
from watchkeeper.runtime.managedfields import FieldManager as Tracker
from watchkeeper.runtime.managedfields import Filter, Foreign, excluding
from watchkeeper.runtime.scheme import Kind, Scheme
from watchkeeper.server.errors import StartupError
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.factory import StorageFactory
from watchkeeper.storage.interface import Interface

if TYPE_CHECKING:
    from watchkeeper.apiextensions.declared.registry import Registry
    from watchkeeper.webhook import Clients

log = logging.getLogger(__name__)

_DEFINITION = GroupVersionKind(GROUP, "v1", KIND)
DEFINITIONS = GroupResource(GROUP, "customresourcedefinitions")
STORES = {DEFINITIONS: DefinitionStore}
"""For the registry: how definitions are deleted."""


def with_definitions(scheme: Scheme, behaviors: Behaviors) -> Behaviors:
    """Make definitions what they are: their defaults go into the scheme, their behavior is returned among all."""
    scheme.kind(_DEFINITION).default = set_defaults
    return behaviors.including([DEFINITION_BEHAVIOR])


class CustomResourceSupport:
    """Serves custom resources as their definitions come and go. Implements `serving.resource.Backend`."""

    def __init__(
        self,
        services: Services,
        served: ServedTable,
        discovery: Discovery,
        openapi: OpenAPI,
        storage: StorageFactory,
        definitions: ServedResource,
        clients: Callable[[], Clients],
        *,
        read_only: bool = False,
    ) -> None:
        """`definitions`: their resource, served or not. `clients` gives those who call webhooks."""
        self.services = services
        self._storage = storage
        self._tasks = TaskOwner("custom-resources")
        self._closing: set[asyncio.Task[None]] = set()
        """Storages of custom resources that are served no more, on their way to their end."""
        make_converter = functools.partial(converter_of, clients=clients)
        self.resources = CustomResources(self, served, discovery, openapi, make_converter)
        self.definitions: Store = definitions.scope.store
        status = definitions.subresources["status"]
        assert isinstance(status.store, StatusStore)
        self.controller = DefinitionController(
            self.definitions, status.store, self.resources, status.field_manager, read_only=read_only
        )

    def start(self) -> None:
        """Begin to follow the definitions."""
        self.controller.start()

    async def wait(self) -> None:
        """Return once all custom resources that are defined are served."""
        await self.controller.wait()

    def declare(self, app: Registry | str) -> None:
        """Serve the kinds of an application, given itself or as `module:registry`. Raises StartupError."""
        from watchkeeper.apiextensions.declared.load import LoadError, load_app

        try:
            registry = load_app(app) if isinstance(app, str) else app
        except LoadError as error:
            raise StartupError(f"--app: {error}") from error
        for kind in registry:
            self.resources.declare(kind.defined, kind.hooks())
        self.resources.flush()

    async def install(self, path: Path) -> None:
        """Install the definitions in a file or directory. Raises StartupError."""
        from watchkeeper.apiextensions.declared.load import LoadError, load_definitions
        from watchkeeper.apiextensions.lifecycle.install import InstallError, install_definitions

        kind = self.services.scheme.kind(_DEFINITION)
        try:
            definitions = load_definitions(path)
            await install_definitions(definitions, self.definitions, kind, self.controller)
        except (LoadError, InstallError) as error:
            raise StartupError(f"--crds: {error}") from error

    async def close(self) -> None:
        """End all of them. Idempotent."""
        await close_all([self.controller.close, self._closed, self._tasks.close])

    async def _closed(self) -> None:
        """Wait for the storages that are being closed; what fails there has been logged."""
        await asyncio.gather(*self._closing, return_exceptions=True)

    # -- Backend --------------------------------------------------------------------------------------------------

    def prefix(self, resource: GroupResource) -> str:
        """The key under which the objects of a resource are."""
        return self._storage.prefix(resource, custom=True)

    def open_storage(self, resource: GroupResource, codec: JsonCodec, *, cached: bool = True) -> Interface:
        """Storage for a custom resource."""
        return self._storage.make(resource, codec, cached=cached, custom=True)

    def close_storage(self, storage: Interface) -> None:
        """Close it in the background."""
        task = self._tasks.start(f"close {storage!r}", _close(storage))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    def field_manager(
        self, kind: Kind, with_status: Collection[str], subresource: str, foreign: Foreign | None
    ) -> FieldManager | None:
        """Who keeps track of fields."""
        if subresource == "scale":
            return Tracker(self.services.scheme, kind, subresource=subresource, applies_changes=False)
        filters: dict[str, Filter] = {}
        if subresource == "status":
            filters = dict.fromkeys(with_status, excluding("metadata", "spec"))
        elif kind.gvk.api_version in with_status:
            # kube-apiserver tells this of no version but the one that is written.
            filters[kind.gvk.api_version] = excluding("status")
        return Tracker(self.services.scheme, kind, subresource=subresource, filters=filters, foreign=foreign)


async def _close(storage: Interface) -> None:
    try:
        await storage.close()
    except Exception:
        log.exception("%r did not end well", storage)

"""How controllers in the server's own process use the API: the registry, with admission, without HTTP."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.controllers.remote_resources import RemoteResource, RemoteResources
from watchkeeper.endpoints.discovery import Discovery
from watchkeeper.endpoints.scope import Scope, ServedResource, ServedTable, Services
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersion
from watchkeeper.registry.rest import Context, CreateOptions, DeleteOptions, Result, UpdateOptions, ValidateDelete
from watchkeeper.request.user import AUTHENTICATED, User
from watchkeeper.runtime.managedfields import completed
from watchkeeper.storage.interface import ListOptions, ListResult, StoredObject

if TYPE_CHECKING:
    from watchkeeper.controllers.remote_api import RemoteApi

Object = dict[str, Any]
Resource = ServedResource | RemoteResource
"""What is served here, or by another server to which requests are passed on."""

MANAGER = "kube-controller-manager"
"""Who owns what controllers write that have no name of their own."""


def controller_user(name: str) -> User:
    """The identity that kube-controller-manager gives a controller of that name."""
    groups = ("system:serviceaccounts", "system:serviceaccounts:kube-system", AUTHENTICATED)
    return User(f"system:serviceaccount:kube-system:{name}", groups=groups)


class Loopback:
    """The API as one controller sees it. Raises ApiError like any client would meet it.

    What other servers serve is there as for any client: discovery tells of it (`remote`), and requests for it are
    passed on (`elsewhere`), by `get`, `delete` and `change` as well.
    """

    def __init__(self, services: Services, served: ServedTable, discovery: Discovery, user: User) -> None:
        self.services = services
        self.served = served
        self.user = user
        self.remote = RemoteResources(served, discovery)
        self._elsewhere: RemoteApi | None = None

    @property
    def elsewhere(self) -> RemoteApi:
        """The objects of other servers. Loaded when it is asked for first."""
        if self._elsewhere is None:
            from watchkeeper.controllers.remote_api import RemoteApi

            self._elsewhere = RemoteApi(self.served, self.user, MANAGER)
        return self._elsewhere

    async def close(self) -> None:
        """Free what requests to other servers have left, once the controller asks no more. Idempotent."""
        if self._elsewhere is not None:
            await self._elsewhere.close()

    def resources(self, *verbs: str) -> Iterator[ServedResource]:
        """What is served here with all these verbs, each resource of each group once; what several groups serve, as
        they do Events, once for each."""
        for group in self.served.groups():
            of_versions = [self.served.resources(group, version) for version in self.served.versions(group)]
            for name in dict.fromkeys(each.info.gvr.resource for those in of_versions for each in those):
                found = self.find(group, name, *verbs)
                if found is not None:
                    yield found

    def find(self, group: str, resource: str, *verbs: str) -> ServedResource | None:
        """A resource that is served here with all these verbs, at its hub version if that is among them.

        A version that is passed on is not served here, whatever is there.
        """
        first: ServedResource | None = None
        remote = self.served.remote
        for version in self.served.versions(group):
            if remote and GroupVersion(group, version) in remote:
                continue
            found = self.served.find(group, version, resource)
            if found is not None and all(verb in found.scope.verbs for verb in verbs):
                if found.scope.is_hub:
                    return found
                first = first or found
        return first

    def find_kind(self, api_version: str, kind: str) -> Resource | None:
        """The resource of a kind as owner references name it: at that version, or None when there is none.

        Raises ServiceUnavailable while another server has the version and nobody ever learned what is in it.
        """
        group, _, version = api_version.rpartition("/")
        remote = self.remote.version(GroupVersion(group, version)) if self.served.remote else None
        if remote is None:
            those: list[Any] = self.served.resources(group, version)
        elif remote.discovered or remote.resources:
            those = list(remote.resources)
        else:
            raise errors.service_unavailable(f"nobody can tell what {api_version} has")
        return next((found for found in those if found.info.kind.kind == kind), None)

    def _context(self, scope: Scope, namespace: str) -> Context:
        return Context(user=self.user, namespace=namespace if scope.namespaced else "")

    async def get(self, resource: Resource, namespace: str, name: str) -> Object:
        """The latest state, of another server's objects its metadata. Raises NotFound."""
        if isinstance(resource, RemoteResource):
            return await self.elsewhere.get(resource, namespace, name)
        scope = resource.scope
        found: Result = await scope.store.get(self._context(scope, namespace), name, "")
        return found.data() if isinstance(found, StoredObject) else found

    async def list(self, resource: ServedResource, namespace: str) -> ListResult:
        """The latest state of a collection."""
        scope = resource.scope
        found: ListResult = await scope.store.list(self._context(scope, namespace), ListOptions())
        return found

    async def create(self, resource: ServedResource, namespace: str, obj: Object) -> Object:
        """Create an object that is complete, defaults included. Returns it as it is stored."""
        scope = resource.scope
        if scope.field_manager is not None:
            obj = scope.field_manager.update(None, {**obj, "metadata": dict(obj["metadata"])}, MANAGER)
        name = obj["metadata"]["name"]
        attributes = self._attributes(scope, namespace, name, Operation.CREATE, obj, None)
        attributes.options = _options("CreateOptions")
        waiting = self.services.admission.admit(attributes)
        if waiting is not None:
            await waiting
        assert attributes.obj is not None

        async def validate(final: Object) -> None:
            attributes.obj = final
            waiting = self.services.admission.validate(attributes)
            if waiting is not None:
                await waiting

        options = CreateOptions(validate=validate)
        result = await scope.store.create(self._context(scope, namespace), attributes.obj, options)
        return result.data() if isinstance(result, StoredObject) else result

    async def delete(self, resource: Resource, namespace: str, name: str, options: DeleteOptions) -> None:
        """Delete an object, or begin to."""
        if isinstance(resource, RemoteResource):
            return await self.elsewhere.delete(resource, namespace, name, options)
        scope = resource.scope
        options.validate = self._validate_delete(scope, namespace, name, options)
        await scope.store.delete(self._context(scope, namespace), name, options)
        return None

    async def delete_collection(self, resource: ServedResource, namespace: str) -> None:
        """Delete all objects of a namespace, dependents in the background."""
        scope = resource.scope
        options = DeleteOptions(propagation_policy="Background")
        options.validate = self._validate_delete(scope, namespace, "", options)
        await scope.store.delete_collection(self._context(scope, namespace), options, ListOptions())

    def _validate_delete(self, scope: Scope, namespace: str, name: str, options: DeleteOptions) -> ValidateDelete:
        """Admission of deletions; `name` is "" for those of a collection."""

        async def validate(old: Object) -> None:
            attributes = self._attributes(scope, namespace, name, Operation.DELETE, None, old)
            attributes.options = {**_options("DeleteOptions"), **options.as_mapping()}
            await self.services.admission.judge(attributes)

        return validate

    def _attributes(
        self, scope: Scope, namespace: str, name: str, operation: Operation, obj: Object | None, old: Object | None
    ) -> Attributes:
        itself = scope.info.gvr.resource == "namespaces" and not scope.info.gvr.group
        return Attributes(
            operation=operation,
            kind=scope.kind.gvk,
            resource=scope.info.gvr,
            subresource=scope.subresource,
            namespace=name if itself else namespace,
            name=name,
            user=self.user,
            obj=obj,
            old=old,
            options=_options("UpdateOptions"),
            versions=scope.versions,
        )

    async def change(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        uid: str,
        change: Callable[[Object], None],
        *,
        subresource: str = "",
        manager: str = MANAGER,
    ) -> Object:
        """Change an object in place by a function, as often as other writers interfere. Raises NotFound, Conflict.

        `manager` is recorded as the owner of what changes; "" leaves the record as it is. Of another server's objects
        only metadata can be changed, and its owner is always MANAGER.
        """
        if isinstance(resource, RemoteResource):
            return await self.elsewhere.change(resource, namespace, name, uid, change)
        scope = resource.subresources[subresource] if subresource else resource.scope

        def changed(current: StoredObject) -> Object:
            obj = current.data()
            change(obj)
            return scope.field_manager.update(current.data(), obj, manager) if scope.field_manager and manager else obj

        return await self._update(resource, scope, namespace, name, uid, changed)

    async def apply(
        self,
        resource: ServedResource,
        namespace: str,
        name: str,
        uid: str,
        part: Object,
        *,
        manager: str,
        subresource: str = "",
    ) -> Object:
        """Merge part of an object into it, whoever owns what it names. Raises NotFound, Conflict."""
        scope = resource.subresources[subresource] if subresource else resource.scope

        def applied(current: StoredObject) -> Object:
            assert scope.field_manager is not None
            return scope.field_manager.apply_part(current.data(), part, manager)

        return await self._update(resource, scope, namespace, name, uid, applied)

    async def _update(
        self,
        resource: ServedResource,
        scope: Scope,
        namespace: str,
        name: str,
        uid: str,
        changed: Callable[[StoredObject], Object],
    ) -> Object:
        async def admit(obj: Object, old: Object) -> Object:
            attributes = self._attributes(scope, namespace, name, Operation.UPDATE, obj, old)
            waiting = self.services.admission.admit(attributes)
            if waiting is not None:
                await waiting
            assert attributes.obj is not None
            return attributes.obj

        async def validate(obj: Object, old: Object) -> None:
            attributes = self._attributes(scope, namespace, name, Operation.UPDATE, obj, old)
            waiting = self.services.admission.validate(attributes)
            if waiting is not None:
                await waiting

        updated = _Change(uid, changed, admit, errors.not_found(resource.info.group_resource, name))
        options = UpdateOptions(validate_update=validate)
        result, _ = await scope.store.update(self._context(scope, namespace), name, updated, options)
        return result.data() if isinstance(result, StoredObject) else result


class _Change:
    """A function that changes an object, and admission, as an `UpdatedObject`."""

    def __init__(
        self,
        uid: str,
        changed: Callable[[StoredObject], Object],
        admit: Callable[[Object, Object], Awaitable[Object]],
        absent: ApiError,
    ) -> None:
        """`absent` is raised when there is nothing to change."""
        self.uid: str | None = uid or None
        self._changed = changed
        self._admit = admit
        self._absent = absent

    async def __call__(self, current: StoredObject | None) -> Object:
        if current is None:
            raise self._absent
        owned = await completed(lambda: self._changed(current))
        return await self._admit(owned, current.data())


def _options(kind: str) -> Object:
    return {"kind": kind, "apiVersion": "meta.k8s.io/v1"}

"""What endpoints see of a resource: role protocols, options, and the table of what is served.

The endpoints know nothing of storage. They ask an object, by role, to get, list, create and so on; what it implements
is what it can do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.registry.backends import Backend
from watchkeeper.request.user import User
from watchkeeper.storage.interface import ListOptions, ListResult, StoredObject, Watcher, WatchOptions
from watchkeeper.values import value

Object = dict[str, Any]
Result = StoredObject | Object
"""What a verb answers: a stored object, or one made for the occasion (a Status, a Scale) with kind and apiVersion."""


@value(kw_only=True)
class Context:
    """On whose behalf and where. `namespace` is "" for cluster-scoped resources and for lists over all namespaces.

    `kind` is what the client speaks, None for the server's own work. `warn` takes texts that the client is to be told
    besides the result.
    """

    user: User
    namespace: str = ""
    kind: GroupVersionKind | None = None
    warn: Callable[[str], None] = lambda _text: None


ValidateCreate = Callable[[Object], Awaitable[None]]
ValidateUpdate = Callable[[Object, Object], Awaitable[None]]
ValidateDelete = Callable[[Object], Awaitable[None]]
Complete = Callable[[ApiError, Object, "Object | None"], Awaitable[ApiError]]
"""The refusal of an invalid object (its old state, if any) -> the refusal with what else is wrong with it."""


@value(kw_only=True)
class CreateOptions:
    """`validate` is validating admission, called with the object as it is going to be stored."""

    dry_run: bool = False
    validate: ValidateCreate | None = None
    complete: Complete | None = None


class UpdatedObject(Protocol):
    """What an update makes of the current state."""

    uid: str | None
    """The uid the update insists on, None when any will do."""

    def __call__(self, current: StoredObject | None) -> Awaitable[Object]:
        """The new state at the hub version; `current` is None when the object does not exist yet."""
        ...


class LiveUpdate:
    """An UpdatedObject that parses the current state and lets others look at what it parsed."""

    live: Object | None = None
    """The state last called with. Nobody changes it: the new state may share parts with it."""
    outgrown: frozenset[str] = frozenset()
    """The fields of the new state that were given more than the kind keeps of them."""


@value(kw_only=True)
class UpdateOptions:
    """How an update goes about it. `force_allow_create`: an absent object is created (server-side apply)."""

    dry_run: bool = False
    force_allow_create: bool = False
    validate_create: ValidateCreate | None = None
    validate_update: ValidateUpdate | None = None
    complete: Complete | None = None


@dataclass(slots=True, kw_only=True)
class DeleteOptions:
    """metav1.DeleteOptions, and validating admission."""

    grace_period_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    dry_run: bool = False
    ignore_store_read_error: bool = False
    validate: ValidateDelete | None = None
    has_preconditions: bool = False
    """Whether any were sent, be it none in particular."""
    settled_grace: int | None = None
    """The grace period that the kind has made of the one asked for; set before `validate` is called."""

    def as_mapping(self) -> Mapping[str, Any]:
        """The options by their API names, for behavior hooks."""
        found: dict[str, Any] = {}
        if self.grace_period_seconds is not None:
            found["gracePeriodSeconds"] = self.grace_period_seconds
        if self.propagation_policy is not None:
            found["propagationPolicy"] = self.propagation_policy
        if self.orphan_dependents is not None:
            found["orphanDependents"] = self.orphan_dependents
        return found

    def copy(self) -> DeleteOptions:
        """Options of its own for one of many deletions: a deletion may settle the grace period."""
        return DeleteOptions(
            grace_period_seconds=self.grace_period_seconds,
            uid=self.uid,
            resource_version=self.resource_version,
            orphan_dependents=self.orphan_dependents,
            propagation_policy=self.propagation_policy,
            dry_run=self.dry_run,
            ignore_store_read_error=self.ignore_store_read_error,
            has_preconditions=self.has_preconditions,
            validate=self.validate,
        )


@runtime_checkable
class Getter(Protocol):
    """Reads one object."""

    def get_nowait(self, ctx: Context, name: str, resource_version: str) -> StoredObject | None:
        """The object when it can be told at once, else None."""
        ...

    async def get(self, ctx: Context, name: str, resource_version: str) -> Result:
        """The object. Raises ApiError."""
        ...


@runtime_checkable
class Lister(Protocol):
    """Reads collections."""

    async def list(self, ctx: Context, options: ListOptions) -> ListResult:
        """What the options select. Raises ApiError."""
        ...


@runtime_checkable
class WatchStarter(Protocol):
    """Follows collections."""

    async def watch(self, ctx: Context, options: WatchOptions) -> Watcher:
        """Events on what the options select. Raises ApiError."""
        ...


@runtime_checkable
class Creater(Protocol):
    """Makes objects."""

    async def create(self, ctx: Context, obj: Object, options: CreateOptions) -> Result:
        """Store a new object, decoded, defaulted and at the hub version. Consumes `obj`. Raises ApiError."""
        ...


@runtime_checkable
class NamedCreater(Protocol):
    """Takes a POST on something that exists, such as a pod's binding."""

    async def create_named(self, ctx: Context, name: str, obj: Object, options: CreateOptions) -> Result:
        """Do what the body asks for with the object of that name. Raises ApiError."""
        ...


@runtime_checkable
class Updater(Protocol):
    """Changes objects."""

    async def update(
        self, ctx: Context, name: str, updated: UpdatedObject, options: UpdateOptions
    ) -> tuple[Result, bool]:
        """Change an object; the second value says whether it was created. Raises ApiError."""
        ...


@runtime_checkable
class Deleter(Protocol):
    """Deletes objects."""

    async def is_unreadable(self, ctx: Context, name: str) -> bool:
        """Whether there is an object that cannot be decrypted or decoded."""
        ...

    async def delete(self, ctx: Context, name: str, options: DeleteOptions) -> tuple[Result, bool]:
        """Delete an object, or begin to; the second value says whether it is gone. Raises ApiError."""
        ...


@runtime_checkable
class CollectionDeleter(Protocol):
    """Deletes collections."""

    async def delete_collection(self, ctx: Context, options: DeleteOptions, selected: ListOptions) -> ListResult:
        """Delete each selected object; returns them as they were listed. Raises ApiError on the first failure."""
        ...


@dataclass(frozen=True, slots=True)
class ConnectRequest:
    """A request on a connecting subresource (log, exec, proxy …).

    `path` is what comes behind the subresource, with its slashes; `query` the query as it came. `upgrade` tells that
    another protocol is asked for.
    """

    name: str
    path: str
    params: Mapping[str, list[str]] = field(default_factory=dict)
    query: str = ""
    method: str = "GET"
    upgrade: bool = False


class SlashMissing(Exception):
    """A proxied path leads on only with a slash behind it."""


@runtime_checkable
class Connecter(Protocol):
    """Answers any method on a subresource that streams to a node."""

    async def connect(self, ctx: Context, request: ConnectRequest) -> Backend | None:
        """Whom the request is to be passed on to. None: there is nothing to answer.

        Raises the ApiError that tells why there is nobody, and SlashMissing.
        """
        ...

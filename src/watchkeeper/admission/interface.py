"""The contract of admission: attributes of a write, plugins, and the chain that runs them in order."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from watchkeeper.meta.field import FieldError
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

Object = dict[str, Any]


class Operation(enum.StrEnum):
    """What is being done, in the words of AdmissionReview."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"

    __hash__ = str.__hash__  # each request looks some up


class ObjectVersions(Protocol):
    """The kinds that a request may be about, at all their versions (part of apiserver's ObjectInterfaces)."""

    def convert(self, obj: Object, to: GroupVersionKind) -> Object | Awaitable[Object]:
        """An object at another version; the very same object when it is at that version already.

        Leaves `obj` as it is. An awaitable only where a webhook converts. Raises ApiError, NotRegistered.
        """
        ...

    def decode(self, obj: Any, kind: GroupVersionKind) -> Object:
        """What a changed object is to the type of its kind: unknown fields and nulls dropped, types checked.

        Consumes `obj`, which may be any JSON value. What comes back may be of another version of the same kind, if it
        says so. Raises DecodeError, and ApiError for an object of another kind.
        """
        ...

    def restore(self, obj: Object, to: GroupVersionKind) -> Object | Awaitable[Object]:
        """A decoded object with defaults filled in, converted to the version that `Attributes.obj` is at.

        Consumes `obj`. Raises what `convert` raises.
        """
        ...


@dataclass(slots=True)
class Reinvocation:
    """What mutating admission knows of its passes: a plugin may ask for one more, in which all plugins run again."""

    requested: bool = False
    """Whether a plugin has asked for another pass. There is one more at most."""
    running: bool = False
    """Whether this is the other pass."""
    values: dict[str, Any] = field(default_factory=dict)
    """What plugins keep from the first pass for the second, by their names."""


class Annotate(Protocol):
    """Takes audit annotations. `level` is the least level of audit at which the annotation is logged."""

    def __call__(self, key: str, value: str, level: str = "Metadata") -> None:
        """Note an annotation; the first value of a key stays."""
        ...


def _no_annotation(key: str, value: str, level: str = "Metadata") -> None:
    pass


@dataclass(slots=True, kw_only=True)
class Attributes:
    """One write.

    `kind` and `resource` are the request's. `obj` is at the hub version (custom resources: at the request's) and may
    be changed in place or replaced while admission mutates; `old` never is. `versioned.at` gives both at other
    versions.
    """

    operation: Operation
    kind: GroupVersionKind
    resource: GroupVersionResource
    namespace: str
    """For a request on a namespace itself, its name."""
    name: str
    """As the request says it: "" for a name that is yet to be generated, and for each object of a collection."""
    user: User
    subresource: str = ""
    obj: Object | None = None
    """None for DELETE; the options (PodExecOptions …) for CONNECT."""
    old: Object | None = None
    """None for CREATE and CONNECT."""
    options: Mapping[str, Any] | None
    """CreateOptions, UpdateOptions (for a PATCH too) or DeleteOptions as JSON; None for CONNECT."""
    dry_run: bool = False
    deadline: float | None = None
    """Loop time by which the request has to be answered; None for work of the server's own."""
    warn: Callable[[str], None] = lambda _text: None
    """Tells the client a warning with the answer."""
    annotate: Annotate = _no_annotation
    """Notes an audit annotation."""
    versions: ObjectVersions | None = None
    """None where nothing but the hub version is known; then only that can be asked for."""
    reinvocation: Reinvocation | None = None
    """Made by the first plugin that wants one."""
    verb: str = ""
    """What authorization was asked about, such as patch for an UPDATE; "" for work of the server's own."""


class Plugin(Protocol):
    """One rule. Either method may return an awaitable; what cannot be decided at once should, and nothing else."""

    name: str
    operations: frozenset[Operation]

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Change `attributes.obj` in place or replace it, or raise an ApiError."""
        ...

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raise an ApiError if the write must not be. Changes nothing."""
        ...


class BasePlugin:
    """A plugin that lets everything pass; override what is needed."""

    name = ""
    operations: frozenset[Operation] = frozenset(Operation)
    resources: frozenset[GroupResource] | None = None
    """The resources that it may have something to say about, their subresources included; None: any."""
    deep = True
    """Whether `admit` may change the object in place below its second level (`spec.FIELD`). Else it puts other values
    in the place of those, and the object may share them with its old state."""

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Change nothing."""
        return None

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Refuse nothing."""
        return None


@runtime_checkable
class Finder(Protocol):
    """A plugin whose refusals are told together with what breaks the rules of the kind, and before that."""

    resources: frozenset[GroupResource]

    async def faults(self, attributes: Attributes) -> Sequence[FieldError]:
        """What it has against a write."""
        ...


_Step = Callable[[Attributes], "Awaitable[None] | None"]
_Steps = tuple[tuple[_Step, ...], tuple[_Step, ...]]
"""What may change, and what may refuse, writes of one kind."""
_MAX_REMEMBERED = 1024


class Chain:
    """Plugins in the order in which they run. A write meets only those that may have something to say about it."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self.plugins = tuple(plugins)
        self.deep = frozenset(op for op in Operation if any(op in p.operations and _is_deep(p) for p in plugins))
        """The operations whose objects must not share anything with others."""
        self._steps: dict[tuple[Operation, GroupVersionResource], _Steps] = {}
        self._finders: dict[GroupResource, tuple[Finder, ...]] = {}
        for finder in (plugin for plugin in plugins if isinstance(plugin, Finder)):
            for resource in finder.resources:
                self._finders[resource] = (*self._finders.get(resource, ()), finder)

    def finders(self, resource: GroupResource) -> Sequence[Finder]:
        """Who has more to say of writes that break the rules of a resource."""
        return self._finders.get(resource, ())

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Let every plugin change the object, and all of them once more if one asks for that.

        None when that is done; an awaitable when a plugin has to wait, after which it goes on.
        """
        key = (attributes.operation, attributes.resource)
        steps = (self._steps.get(key) or self._find_steps(key))[0]
        left = iter(steps)
        for admit in left:
            waiting = admit(attributes)
            if waiting is not None:
                return self._admit_rest(attributes, waiting, left, steps)
        passes = attributes.reinvocation
        return None if passes is None else self._admit_again(attributes, steps)

    async def _admit_rest(
        self, attributes: Attributes, waiting: Awaitable[None], left: Iterator[_Step], steps: Sequence[_Step]
    ) -> None:
        await waiting
        await _run(left, attributes)
        await self._admit_again(attributes, steps)

    @staticmethod
    async def _admit_again(attributes: Attributes, steps: Sequence[_Step]) -> None:
        passes = attributes.reinvocation
        if passes is not None and passes.requested:
            passes.running = True
            await _run(steps, attributes)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Let every plugin refuse. None when that is done; an awaitable when a plugin has to wait."""
        key = (attributes.operation, attributes.resource)
        left = iter((self._steps.get(key) or self._find_steps(key))[1])
        for validate in left:
            waiting = validate(attributes)
            if waiting is not None:
                return _finish(waiting, left, attributes)
        return None

    async def judge(self, attributes: Attributes) -> None:
        """Let every plugin change the object, and then every plugin refuse."""
        await _run((self.admit, self.validate), attributes)

    def _find_steps(self, key: tuple[Operation, GroupVersionResource]) -> _Steps:
        operation, resource = key
        group_resource = resource.group_resource
        concerned = [
            plugin
            for plugin in self.plugins
            if operation in plugin.operations
            and ((named := getattr(plugin, "resources", None)) is None or group_resource in named)
        ]
        steps = (
            tuple(plugin.admit for plugin in concerned if _overrides(plugin, "admit")),
            tuple(plugin.validate for plugin in concerned if _overrides(plugin, "validate")),
        )
        if len(self._steps) >= _MAX_REMEMBERED:
            self._steps.clear()
        self._steps[key] = steps
        return steps


async def _run(steps: Iterable[_Step], attributes: Attributes) -> None:
    for step in steps:
        waiting = step(attributes)
        if waiting is not None:
            await waiting


async def _finish(waiting: Awaitable[None], left: Iterator[_Step], attributes: Attributes) -> None:
    await waiting
    await _run(left, attributes)


def _overrides(plugin: Plugin, method: str) -> bool:
    return getattr(type(plugin), method, None) is not getattr(BasePlugin, method)


def _is_deep(plugin: Plugin) -> bool:
    return getattr(plugin, "deep", True) and _overrides(plugin, "admit")

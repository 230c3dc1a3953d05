"""The contract of admission: attributes of a write, plugins, and the chain that runs them in order."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

Object = dict[str, Any]


class Operation(enum.StrEnum):
    """What is being done, in the words of AdmissionReview."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


@dataclass(slots=True, kw_only=True)
class Attributes:
    """One write. `obj` is at the hub version and may be changed in place while admission mutates; `old` never is."""

    operation: Operation
    kind: GroupVersionKind
    resource: GroupVersionResource
    namespace: str
    name: str
    user: User
    subresource: str = ""
    obj: Object | None = None
    old: Object | None = None
    options: Mapping[str, Any]
    """CreateOptions, UpdateOptions or DeleteOptions as JSON."""
    dry_run: bool = False
    warn: Callable[[str], None] = lambda _text: None


class Plugin(Protocol):
    """One rule. Either method may return an awaitable; what cannot be decided at once should, and nothing else."""

    name: str
    operations: frozenset[Operation]

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Change `attributes.obj` in place, or raise an ApiError."""
        ...

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raise an ApiError if the write must not be. Changes nothing."""
        ...


class BasePlugin:
    """A plugin that lets everything pass; override what is needed."""

    name = ""
    operations: frozenset[Operation] = frozenset(Operation)

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Change nothing."""
        return None

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Refuse nothing."""
        return None


class Chain:
    """Plugins in the order in which they run."""

    def __init__(self, plugins: Sequence[Plugin] = ()) -> None:
        self.plugins = tuple(plugins)
        self._by_operation = {op: tuple(p for p in plugins if op in p.operations) for op in Operation}

    async def admit(self, attributes: Attributes) -> None:
        """Let every plugin change the object."""
        for plugin in self._by_operation[attributes.operation]:
            waiting = plugin.admit(attributes)
            if waiting is not None:
                await waiting

    async def validate(self, attributes: Attributes) -> None:
        """Let every plugin refuse."""
        for plugin in self._by_operation[attributes.operation]:
            waiting = plugin.validate(attributes)
            if waiting is not None:
                await waiting

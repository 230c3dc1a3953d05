"""NamespaceLifecycle: nothing is created in a namespace that is absent or ending, and three namespaces stay."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.refusal import forbidden
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource

Object = dict[str, Any]

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
_NAMESPACES = GroupResource("", "namespaces")
_REVIEWS = frozenset({"localsubjectaccessreviews"})

Phase = Callable[[str], "bool | Awaitable[bool | None] | None"]
"""Name of a namespace -> whether it is ending; None when it does not exist. An awaitable when memory cannot tell."""


class NamespaceLifecycle(BasePlugin):
    """Asks about a namespace only when something is created in it."""

    name = "NamespaceLifecycle"
    deep = False
    operations = frozenset({Operation.CREATE, Operation.DELETE})

    def __init__(self, is_ending: Phase) -> None:
        self._is_ending = is_ending

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Refuse at once where it can be told at once."""
        resource = attributes.resource.group_resource
        if resource == _NAMESPACES:
            if attributes.operation is Operation.DELETE and attributes.name in IMMORTAL:
                raise errors.forbidden(resource, attributes.name, "this namespace may not be deleted")
            return None
        if attributes.operation is not Operation.CREATE or not attributes.namespace:
            return None
        if attributes.resource.resource in _REVIEWS:
            return None
        ending = self._is_ending(attributes.namespace)
        if ending is None or isinstance(ending, bool):
            self._judge(attributes, ending)
            return None
        return self._wait(attributes, ending)

    async def _wait(self, attributes: Attributes, ending: Awaitable[bool | None]) -> None:
        self._judge(attributes, await ending)

    @staticmethod
    def _judge(attributes: Attributes, ending: bool | None) -> None:
        namespace = attributes.namespace
        if ending is None:
            raise errors.not_found(_NAMESPACES, namespace)
        if ending:
            raise being_terminated(attributes)


def being_terminated(attributes: Attributes) -> ApiError:
    """403 for what would be created in a namespace that is ending."""
    namespace = attributes.namespace
    error = forbidden(
        attributes, f"unable to create new content in namespace {namespace} because it is being terminated"
    )
    assert error.details is not None
    error.details["causes"] = [
        {
            "reason": "NamespaceTerminating",
            "message": f"namespace {namespace} is being terminated",
            "field": "metadata.namespace",
        }
    ]
    return error

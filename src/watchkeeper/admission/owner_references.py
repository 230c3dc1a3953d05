"""OwnerReferencesPermissionEnforcement: whoever makes one object own another might have deleted the one itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.refusal import forbidden
from watchkeeper.authz.interface import Attributes as Question
from watchkeeper.authz.interface import Authorizer
from watchkeeper.authz.union import ask
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind

Object = dict[str, Any]
_PODS = GroupResource("", "pods")


@dataclass(frozen=True, slots=True)
class Plural:
    """What a kind is called in paths."""

    resource: str
    namespaced: bool


FindPlural = Callable[[GroupVersionKind], "Plural | None"]
"""None for kinds that are not served."""


class OwnerReferences(BasePlugin):
    """Asks whether who changes the owners of an object may delete it, and hold up the deletion of those owners."""

    name = "OwnerReferencesPermissionEnforcement"
    deep = False
    operations = frozenset({Operation.CREATE, Operation.UPDATE})

    def __init__(self, authorizer: Authorizer, find_plural: FindPlural) -> None:
        self._authorizer = authorizer
        self._find_plural = find_plural

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Refuse changes of owners with 403."""
        if attributes.subresource == "status" and attributes.resource.group_resource == _PODS:
            return None  # which changes none
        old, new = _owners(attributes.old), _owners(attributes.obj)
        return None if old == new else self._judge(attributes, _newly_blocking(old, new))

    async def _judge(self, attributes: Attributes, blocking: Sequence[Object]) -> None:
        if attributes.operation is not Operation.CREATE:
            refused = await self._refusal(_deletion(attributes))
            if refused is not None:
                raise forbidden(attributes, f"cannot set an ownerRef on a resource you can't delete: {refused}, <nil>")
        if not blocking or await self._refusal(_finalizing(attributes, "*", "*", "*", "*")) is None:
            return
        for owner in blocking:
            refused = await self._refusal(self._finalizing_owner(attributes, owner))
            if refused is not None:
                what = "refers to a resource you can't set finalizers on"
                raise forbidden(
                    attributes, f"cannot set blockOwnerDeletion if an ownerReference {what}: {refused}, <nil>"
                )

    async def _refusal(self, question: Question) -> str | None:
        """Why somebody may not, None when he may."""
        answer = await ask(self._authorizer, question)
        return None if answer.allowed else answer.reason

    def _finalizing_owner(self, attributes: Attributes, owner: Mapping[str, Any]) -> Question:
        version, kind = str(owner.get("apiVersion") or ""), str(owner.get("kind") or "")
        group, _, version_of_group = version.rpartition("/")
        found = None if "/" in group else self._find_plural(GroupVersionKind(group, version_of_group, kind))
        if found is None:
            why = f"no matches for kind {go_quote(kind)} in version {go_quote(version)}"
            if "/" in group:
                why = f"unexpected GroupVersion string: {version}"
            where = f"cannot find RESTMapping for APIVersion {version} Kind {kind}"
            raise forbidden(attributes, f"cannot set blockOwnerDeletion in this case because {where}: {why}")
        namespace = attributes.namespace if found.namespaced else ""
        name = str(owner.get("name") or "")
        return _finalizing(attributes, group, version_of_group, found.resource, name, namespace)


def _owners(obj: Object | None) -> Sequence[Object]:
    return ((obj or {}).get("metadata") or {}).get("ownerReferences") or []


def _newly_blocking(old: Sequence[Object], new: Sequence[Object]) -> list[Object]:
    before = {owner.get("uid") for owner in old if owner.get("blockOwnerDeletion")}
    return [owner for owner in new if owner.get("blockOwnerDeletion") and owner.get("uid") not in before]


def _deletion(attributes: Attributes) -> Question:
    return Question(
        user=attributes.user,
        verb="delete",
        group=attributes.resource.group,
        version=attributes.resource.version,
        resource=attributes.resource.resource,
        subresource=attributes.subresource,
        namespace=attributes.namespace,
        name=attributes.name,
    )


def _finalizing(
    attributes: Attributes, group: str, version: str, resource: str, name: str, namespace: str = ""
) -> Question:
    return Question(
        user=attributes.user,
        verb="update",
        group=group,
        version=version,
        resource=resource,
        subresource="finalizers",
        namespace=namespace,
        name=name,
    )

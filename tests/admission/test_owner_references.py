"""Who may say what owns an object, where that is asked (OwnerReferencesPermissionEnforcement)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.owner_references import OwnerReferences, Plural
from watchkeeper.authz.interface import ALLOWED, NO_OPINION, Answer
from watchkeeper.authz.interface import Attributes as Asked
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

Object = dict[str, Any]

PLURALS = {
    GroupVersionKind("", "v1", "Pod"): Plural("pods", True),
    GroupVersionKind("", "v1", "Node"): Plural("nodes", False),
}
NO_FINALIZERS = (
    "cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: why, <nil>"
)
NO_DELETE = "cannot set an ownerRef on a resource you can't delete: why, <nil>"
NO_MAPPING = "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion"


class Rights:
    """Allows what is listed as `verb group/resource/subresource namespace/name`."""

    def __init__(self, *rights: str) -> None:
        self.rights = rights

    def authorize(self, attributes: Asked) -> Answer:
        what = f"{attributes.group}/{attributes.resource}/{attributes.subresource}"
        asked = f"{attributes.verb} {what} {attributes.namespace}/{attributes.name}"
        return ALLOWED if asked in self.rights else Answer(NO_OPINION.decision, "why")


def owner(kind: str = "Pod", version: str = "v1", **fields: Any) -> Object:
    return {"apiVersion": version, "kind": kind, "name": "o", "uid": f"u-{kind}", **fields}


def refusal(
    new: list[Object],
    old: list[Object] | None = None,
    *rights: str,
    resource: str = "configmaps",
    subresource: str = "",
) -> str | None:
    attributes = Attributes(
        operation=Operation.CREATE if old is None else Operation.UPDATE,
        kind=GroupVersionKind("", "v1", "ConfigMap"),
        resource=GroupVersionResource("", "v1", resource),
        namespace="shop",
        name="c",
        user=User("ann"),
        subresource=subresource,
        obj={"metadata": {"name": "c", "ownerReferences": new} if new else {"name": "c"}},
        old=None if old is None else {"metadata": {"ownerReferences": old}},
        options={},
    )

    async def run() -> str | None:
        try:
            waiting = OwnerReferences(Rights(*rights), PLURALS.get).validate(attributes)
            if waiting is not None:
                await waiting
        except ApiError as error:
            assert error.code == 403
            return error.message.removeprefix(f'{resource} "c" is forbidden: ')
        return None

    return asyncio.run(run())


def test_new_objects_may_be_owned_by_anything_whose_deletion_they_do_not_hold_up() -> None:
    assert refusal([owner()]) is None
    assert refusal([owner(blockOwnerDeletion=False)]) is None
    assert refusal([owner(blockOwnerDeletion=True)]) == NO_FINALIZERS


def test_who_holds_up_a_deletion_may_set_finalizers_of_the_owner() -> None:
    pod, node = owner(blockOwnerDeletion=True), owner("Node", blockOwnerDeletion=True)
    assert refusal([pod], None, "update /pods/finalizers shop/o") is None
    assert refusal([node], None, "update /nodes/finalizers /o") is None
    assert refusal([pod, node], None, "update /pods/finalizers shop/o") == NO_FINALIZERS
    assert refusal([pod, node], None, "update */*/finalizers /*") is None


def test_owners_are_changed_by_who_may_delete_the_object() -> None:
    delete = "delete /configmaps/ shop/c"
    assert refusal([owner()], [owner()]) is None
    assert refusal([owner()], []) == refusal([], [owner()]) == NO_DELETE
    assert refusal([owner(blockOwnerDeletion=False)], [owner()]) == NO_DELETE
    assert refusal([owner()], [], delete) is refusal([], [owner()], delete) is None
    assert refusal([owner(blockOwnerDeletion=True)], [owner()], delete) == NO_FINALIZERS
    held = owner(blockOwnerDeletion=True)
    assert refusal([held, owner("Node")], [held], delete) is None


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("v1", 'v1 Kind Nothing: no matches for kind "Nothing" in version "v1"'),
        ("a.b/v1", 'a.b/v1 Kind Nothing: no matches for kind "Nothing" in version "a.b/v1"'),
        ("a/b/c", "a/b/c Kind Nothing: unexpected GroupVersion string: a/b/c"),
    ],
)
def test_owners_of_kinds_that_are_not_served_cannot_be_judged(version: str, why: str) -> None:
    assert refusal([owner("Nothing", version, blockOwnerDeletion=True)]) == f"{NO_MAPPING} {why}"


def test_the_status_of_pods_changes_no_owners() -> None:
    assert refusal([owner()], [], resource="pods", subresource="status") is None
    assert refusal([owner()], [], subresource="status") == NO_DELETE

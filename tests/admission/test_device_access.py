"""Administrators' access to devices needs a labeled namespace; a claim's status needs rights for its parts."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from watchkeeper.admission.device_access import DeviceAccess
from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.authz.interface import ALLOWED, NO_OPINION, Answer
from watchkeeper.authz.interface import Attributes as Asked
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

Object = dict[str, Any]

LABEL = (
    "admin access to devices requires the `resource.kubernetes.io/admin-access: true` label on the containing namespace"
)
NAMESPACES = {"admin": {"resource.kubernetes.io/admin-access": "true"}, "plain": {"a": "b"}}
ALLOCATION = {
    "devices": {"results": [{"request": "r", "driver": "gpu.example.com", "pool": "p", "device": "d"}]},
    "nodeSelector": {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]
    },
}
REPORT = {"driver": "gpu.example.com", "pool": "p", "device": "d", "data": {}}
REFUSED = "resourceclaims.resource.k8s.io"


class Rights:
    """Allows what is listed as `verb subresource namespace/name`."""

    def __init__(self, *rights: str) -> None:
        self.rights = rights

    def authorize(self, attributes: Asked) -> Answer:
        assert (attributes.group, attributes.resource) == ("resource.k8s.io", "resourceclaims")
        asked = f"{attributes.verb} {attributes.subresource} {attributes.namespace}/{attributes.name}"
        return ALLOWED if asked in self.rights else NO_OPINION


def read_namespace(name: str) -> Object | None:
    return {"metadata": {"name": name, "labels": NAMESPACES[name]}} if name in NAMESPACES else None


def causes(
    obj: Object,
    old: Object | None = None,
    *,
    namespace: str = "plain",
    rights: tuple[str, ...] = (),
    user: User | None = None,
    verb: str = "update",
    kind: str = "ResourceClaim",
) -> list[tuple[str, str]]:
    attributes = Attributes(
        operation=Operation.CREATE if old is None else Operation.UPDATE,
        kind=GroupVersionKind("resource.k8s.io", "v1", kind),
        resource=GroupVersionResource("resource.k8s.io", "v1", kind.lower() + "s"),
        namespace=namespace,
        name="c",
        user=user or User("jane"),
        subresource="" if old is None else "status",
        obj={"metadata": {"name": "c"}, **obj},
        old=old,
        options={},
        verb=verb,
    )

    async def run() -> list[tuple[str, str]]:
        try:
            waiting = DeviceAccess(Rights(*rights), read_namespace).validate(attributes)
            if waiting is not None:
                await waiting
        except ApiError as error:
            assert (error.code, error.reason) == (422, "Invalid")
            return [(cause["field"], cause["message"]) for cause in error.details["causes"]]
        return []

    return asyncio.run(run())


def asking(**exactly: Any) -> Object:
    return {"devices": {"requests": [{"name": "a", "firstAvailable": []}, {"name": "b", "exactly": exactly}]}}


@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
def test_access_of_administrators_is_for_labeled_namespaces(kind: str) -> None:
    def spec(**exactly: Any) -> Object:
        asked = asking(**exactly)
        return {"spec": asked if kind == "ResourceClaim" else {"spec": asked}}

    assert causes(spec(adminAccess=True), kind=kind) == [
        ("spec.devices.requests[1].adminAccess", f"Forbidden: {LABEL}")
    ]
    assert causes(spec(adminAccess=True), namespace="admin", kind=kind) == []
    assert causes(spec(adminAccess=False), kind=kind) == []
    ((_, message),) = causes(spec(adminAccess=True), namespace="gone", kind=kind)
    assert message == (
        'Internal error: could not retrieve namespace to verify admin access: namespaces "gone" not found'
    )


def test_the_status_of_a_claim_gives_no_access_that_the_namespace_does_not_allow() -> None:
    granted: Object = {"allocation": {"devices": {"results": [{}, {"adminAccess": True}]}}}
    rights = ("update binding /",)
    path = "status.allocation.devices.results[1].adminAccess"
    assert causes({"status": granted}, {}, rights=rights) == [(path, f"Forbidden: {LABEL}")]
    assert causes({"status": granted}, {}, rights=rights, namespace="admin") == []
    assert causes({"status": granted}, {"status": granted}) == []


@pytest.mark.parametrize("status", [{"allocation": ALLOCATION}, {"reservedFor": [{"resource": "pods", "name": "p"}]}])
def test_binding_a_claim_needs_a_right_of_its_own(status: Object) -> None:
    ((field, message),) = causes({"status": status}, {}, verb="patch")
    assert field == "status.allocation"
    assert message == (
        'Forbidden: changing status.allocation or status.reservedFor requires resource="resourceclaims/binding",'
        f' verb="patch" permission: {REFUSED} is forbidden: User "jane" cannot patch resource "resourceclaims/binding"'
        ' in API group "resource.k8s.io" at the cluster scope'
    )
    assert causes({"status": status}, {}, verb="patch", rights=("patch binding /",)) == []
    assert causes({"status": status}, {"status": status}) == []


def test_drivers_report_on_their_own_devices() -> None:
    old: Object = {"status": {"allocation": ALLOCATION}}
    new: Object = {"status": {"allocation": ALLOCATION, "devices": [REPORT]}}
    ((field, message),) = causes(new, old)
    assert field == "status.devices"
    assert message == (
        'Forbidden: changing status.devices requires resource="resourceclaims/driver", verb="[arbitrary-node:update]"'
        f' permission: {REFUSED} "gpu.example.com" is forbidden: User "jane" cannot arbitrary-node:update resource'
        ' "resourceclaims/driver" in API group "resource.k8s.io" in the namespace "plain"'
    )
    mine = ("arbitrary-node:update driver plain/gpu.example.com",)
    assert causes(new, old, rights=mine) == []
    assert causes(old, new, rights=mine) == []
    assert causes(new, new) == []
    assert causes(old, new, rights=("arbitrary-node:update driver plain/other.example.com",)) != []


def test_reports_go_with_the_devices_whoever_takes_these_back() -> None:
    old: Object = {"status": {"allocation": ALLOCATION, "devices": [REPORT]}}
    assert causes({"status": {}}, old, rights=("update binding /",)) == []
    assert [field for field, _ in causes({"status": {}}, old)] == ["status.allocation"]


def test_a_service_account_on_the_node_of_the_devices_needs_less() -> None:
    old: Object = {"status": {"allocation": ALLOCATION}}
    new: Object = {"status": {"allocation": ALLOCATION, "devices": [REPORT]}}
    rights = ("associated-node:update driver plain/gpu.example.com",)

    def on(node: str, name: str = "system:serviceaccount:dra:driver") -> User:
        return User(name, extra={"authentication.kubernetes.io/node-name": (node,)})

    assert causes(new, old, rights=rights, user=on("n1")) == []
    assert causes(new, old, rights=rights, user=on("n2")) != []
    assert causes(new, old, rights=rights, user=on("n1", "jane")) != []
    ((_, message),) = causes(new, old, user=on("n1"))
    assert 'verb="[associated-node:update arbitrary-node:update]"' in message

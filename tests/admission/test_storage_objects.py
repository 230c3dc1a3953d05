"""What admission does about storage: which claims may grow, defaults, and what keeps things while they are used."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.objects import DefaultStorageClass, PersistentVolumeClaimResize, StorageObjectInUseProtection
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

Object = dict[str, Any]
CLAIMS = GroupVersionResource("", "v1", "persistentvolumeclaims")
OLD_DEFAULT = {"storageclass.beta.kubernetes.io/is-default-class": "true"}
CLASSES: list[Object] = [
    {"metadata": {"name": "elastic"}, "allowVolumeExpansion": True},
    {"metadata": {"name": "rigid", "annotations": OLD_DEFAULT}},
]


def claim(size: str, storage_class: str | None = "elastic", phase: str = "Bound", **metadata: Any) -> Object:
    spec: Object = {"resources": {"requests": {"storage": size}}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    return {"metadata": {"name": "c", **metadata}, "spec": spec, "status": {"phase": phase}}


def about(obj: Object, old: Object | None = None, resource: GroupVersionResource = CLAIMS) -> Attributes:
    return Attributes(
        operation=Operation.CREATE if old is None else Operation.UPDATE,
        kind=GroupVersionKind(resource.group, "v1", "Any"),
        resource=resource,
        namespace="web",
        name="c",
        user=User("u"),
        obj=obj,
        old=old,
        options={},
    )


async def classes() -> list[Object]:
    return CLASSES


def resized(old: Object, new: Object) -> str:
    """Why a change is refused, empty if it is not."""

    async def run() -> None:
        waiting = PersistentVolumeClaimResize(classes).validate(about(new, old))
        if waiting is not None:
            await waiting

    try:
        asyncio.run(run())
    except ApiError as error:
        return error.message.removeprefix('persistentvolumeclaims "c" is forbidden: ')
    return ""


def test_a_claim_grows_if_its_class_allows_that() -> None:
    inflexible = (
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must"
        " support resize"
    )
    assert resized(claim("1Gi"), claim("2Gi")) == ""
    for name in ("rigid", "absent", "", None):
        assert resized(claim("1Gi", name), claim("2Gi", name)) == inflexible
    old_way = {"volume.beta.kubernetes.io/storage-class": "elastic"}
    assert resized(claim("1Gi", None, annotations=old_way), claim("2Gi", None, annotations=old_way)) == ""


def test_what_does_not_grow_is_not_asked_about() -> None:
    assert resized(claim("1Gi", "rigid"), claim("1024Mi", "rigid")) == ""
    assert resized(claim("1Gi", "rigid"), claim("500Mi", "rigid")) == ""


def test_only_a_bound_claim_grows() -> None:
    waiting = claim("1Gi", phase="Pending")
    assert resized(waiting, claim("2Gi")) == "Only bound persistent volume claims can be expanded"


def test_the_old_annotation_marks_a_default_class_too() -> None:
    new = claim("1Gi", None)

    async def run() -> None:
        waiting = DefaultStorageClass(classes).admit(about(new))
        assert waiting is not None
        await waiting

    asyncio.run(run())
    assert new["spec"]["storageClassName"] == "rigid"


@pytest.mark.parametrize(
    ("group", "resource", "finalizers"),
    [
        ("", "persistentvolumeclaims", ["kubernetes.io/pvc-protection"]),
        ("", "persistentvolumes", ["kubernetes.io/pv-protection"]),
        ("storage.k8s.io", "volumeattributesclasses", ["kubernetes.io/vac-protection"]),
        ("storage.k8s.io", "storageclasses", None),
    ],
)
def test_what_may_be_in_use_gets_a_finalizer(group: str, resource: str, finalizers: list[str] | None) -> None:
    new: Object = {"metadata": {"name": "c"}}
    StorageObjectInUseProtection().admit(about(new, resource=GroupVersionResource(group, "v1", resource)))
    assert new["metadata"].get("finalizers") == finalizers

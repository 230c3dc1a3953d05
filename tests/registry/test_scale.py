from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind
from watchkeeper.registry.rest import Context, UpdatedObject, UpdateOptions
from watchkeeper.registry.scale import ScaleStore, builtin_mapping
from watchkeeper.registry.store import Store
from watchkeeper.storage.codec import JsonCodec

KIND = GroupVersionKind("apps", "v1", "Deployment")
BROKEN = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "a"},
    "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "/"}}},
}


class _Held:
    """A store that holds one object."""

    resource = GroupResource("apps", "deployments")

    def __init__(self) -> None:
        codec = JsonCodec(KIND, None)
        self._stored = codec.stored("/a", codec.encode(BROKEN), 1)

    async def get(self, ctx: Context, name: str, resource_version: str) -> Any:
        return self._stored

    async def update(self, ctx: Context, name: str, change: Any, options: UpdateOptions) -> Any:
        return await change(self._stored), False


def test_an_object_whose_selector_cannot_be_has_no_scale_to_be_read_or_changed() -> None:
    scales = ScaleStore(cast(Store, _Held()), builtin_mapping(KIND))
    ctx = cast(Context, None)
    with pytest.raises(ApiError) as read:
        asyncio.run(scales.get(ctx, "a", ""))
    with pytest.raises(ApiError) as written:
        asyncio.run(scales.update(ctx, "a", cast(UpdatedObject, _Unasked()), UpdateOptions()))
    assert (read.value.code, read.value.reason) == (400, "BadRequest")
    assert (written.value.code, written.value.reason) == (500, "")
    assert read.value.message == written.value.message
    assert written.value.message.startswith('values[0][a]: Invalid value: "/": a valid label must be')


class _Unasked:
    uid = None

    async def __call__(self, current: Any) -> Any:
        raise AssertionError("there is nothing to change")

"""A Pod whose node is not there: kube-apiserver names the resource that the request is for."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from watchkeeper.meta import errors
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.connect import Kubelets
from watchkeeper.registry.kubelet import KubeletPlaces
from watchkeeper.registry.rest import Context
from watchkeeper.request.user import LOOPBACK


class _NoNodes:
    async def get(self, *_: Any) -> Any:
        raise errors.not_found(GroupResource("", "nodes"), "n")


def test_a_pods_node_that_is_absent_is_told_as_of_pods() -> None:
    with pytest.raises(errors.ApiError) as caught:
        asyncio.run(Kubelets(cast("Any", _NoNodes()), KubeletPlaces()).of(Context(user=LOOPBACK), "n"))
    assert caught.value.message == 'pods "n" not found'

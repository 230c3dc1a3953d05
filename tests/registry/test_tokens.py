"""What tokens say of the node that their pod is on."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from watchkeeper.authn.service_account_keys import TokenKeys
from watchkeeper.authn.service_account_tokens import ServiceAccountTokens
from watchkeeper.meta import errors
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.registry.rest import Context, CreateOptions
from watchkeeper.registry.tokens import TokenStore
from watchkeeper.request.user import LOOPBACK

KEYS = TokenKeys(ec.generate_private_key(ec.SECP256R1()))
CONTEXT = Context(user=LOOPBACK, namespace="n")


class Kept:
    """A store of one object, of which its cache may know nothing yet."""

    def __init__(self, obj: dict[str, Any] | None, *, cached: bool = True) -> None:
        self.obj, self.cached = obj, cached

    async def get(self, _ctx: Context, name: str, version: str) -> Kept:
        if self.obj is None or (version == "0" and not self.cached):
            raise errors.not_found(GroupResource("", "nodes"), name)
        return self

    def data(self) -> dict[str, Any]:
        assert self.obj is not None
        return self.obj


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        (Kept({"metadata": {"name": "far", "uid": "u3"}}), {"name": "far", "uid": "u3"}),
        (Kept({"metadata": {"name": "far", "uid": "u3"}}, cached=False), {"name": "far", "uid": "u3"}),
        (Kept(None), {"name": "far"}),
    ],
)
def test_the_node_of_a_pod_is_named_with_its_uid_if_there_is_one(nodes: Kept, told: dict[str, str]) -> None:
    account = Kept({"metadata": {"name": "a", "uid": "u1"}})
    pod = Kept({"metadata": {"name": "p", "uid": "u2"}, "spec": {"serviceAccountName": "a", "nodeName": "far"}})
    tokens = TokenStore(
        cast("Any", account), cast("Any", {"Pod": pod, "Node": nodes}), ServiceAccountTokens(lambda: KEYS, "issuer")
    )
    asked = {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": "p"}}}
    answer = cast("Any", asyncio.run(tokens.create_named(CONTEXT, "a", asked, CreateOptions())))
    claims = jwt.decode(answer["status"]["token"], options={"verify_signature": False})
    assert claims["kubernetes.io"]["node"] == told

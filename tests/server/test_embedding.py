"""A server inside a program: what docs/embedding.md shows, and what it promises."""

from __future__ import annotations

import asyncio
import re
import signal
import ssl
import urllib.error
import urllib.request
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from watchkeeper.client.config import ClientConfig
from watchkeeper.client.dynamic import DynamicClient
from watchkeeper.client.kubeconfig import load_config
from watchkeeper.client.rest import RestClient
from watchkeeper.serving import (
    AdmissionPlugin,
    Answer,
    ApiError,
    ApiServer,
    AuthorizerAttributes,
    Decision,
    Extensions,
    InvalidToken,
    ServeOptions,
    StartupError,
    User,
)

DOCUMENT = Path(__file__).parents[2] / "docs" / "embedding.md"


def documented() -> dict[str, Any]:
    [source] = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    scope: dict[str, Any] = {"__name__": "embedding"}
    exec(compile(source, str(DOCUMENT), "exec", dont_inherit=True), scope)
    return scope


def order(name: str, amount: int = 1) -> dict[str, Any]:
    spec = {"item": "shirt", "amount": amount}
    return {"apiVersion": "shop.example.com/v1", "kind": "Order", "metadata": {"name": name}, "spec": spec}


def options(data: Path, **more: Any) -> ServeOptions:
    return ServeOptions(data_dir=data, storage="memory:", port=0, controllers=(), **more)


def config_with(server: ApiServer, token: str) -> ClientConfig:
    return replace(load_config(server.kubeconfig), token=token)


async def refusal(client: Any, obj: dict[str, Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await client.create(obj)
    return caught.value


def test_the_program_of_the_documentation_does_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = documented()
    asyncio.run(shown["main"](tmp_path))
    assert "{'amount': 1, 'item': 'shirt'} {'owner': 'kubernetes-admin'}" in capsys.readouterr().out

    async def as_anna() -> None:
        async with shown["make_server"](tmp_path) as server, RestClient(config_with(server, "anna-s3cret")) as rest:
            client = DynamicClient(rest)
            orders = await client.of_kind("shop.example.com/v1", "Order", namespace="default")
            assert [found["metadata"]["name"] for found in (await orders.list())["items"]] == ["one"]
            assert (await orders.create(order("two")))["metadata"]["labels"] == {"owner": "anna"}
            much = await refusal(orders, order("three", 101))
            assert much.message == 'orders.shop.example.com "three" is forbidden: a hundred at most'
            maps = await client.of_kind("v1", "ConfigMap", namespace="default")
            other = await refusal(maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
            assert (other.code, 'User "anna" cannot create resource "configmaps"' in other.message) == (403, True)

    asyncio.run(as_anna())


class Slow(AdmissionPlugin):
    """Answers later, as a look-up elsewhere would."""

    async def validate(self, _write: Any) -> None:
        await asyncio.sleep(0)
        raise ApiError(418, "Teapot", "not in here")


class Nobody:
    async def authorize(self, asked: AuthorizerAttributes) -> Answer:
        await asyncio.sleep(0)
        return Answer(Decision.DENY, f"nobody may {asked.verb} that")


class Expired:
    async def authenticate_token(self, token: str) -> User | None:
        if token == "old":
            raise InvalidToken("it has expired")
        return User("bert") if token == "bert" else None


def code_for(server: ApiServer, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    request = urllib.request.Request(f"{server.urls[0]}/api/v1/nodes", headers=headers)
    try:
        with urllib.request.urlopen(request, context=ssl._create_unverified_context()) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.parametrize(
    ("authorization", "plain", "code"),
    [
        ("AlwaysAllow", False, 401),
        ("AlwaysAllow", True, 200),
        ("RBAC", False, 403),
        ("RBAC", True, 403),
        ("RBAC,AlwaysAllow", False, 401),
        ("RBAC,AlwaysAllow", True, 200),
    ],
)
def test_where_everybody_may_do_everything_nobody_is_anonymous_but_over_plain_http(
    tmp_path: Path, authorization: str, plain: bool, code: int
) -> None:
    async def run() -> None:
        async with ApiServer(options(tmp_path, authorization=authorization, insecure_http=plain)) as server:
            assert await asyncio.to_thread(code_for, server, "") == code
            async with RestClient(load_config(server.kubeconfig)) as rest:
                assert (await rest.request("GET", "/api/v1/nodes"))["items"] == []

    asyncio.run(run())


def test_what_is_added_may_answer_later_and_has_the_last_word(tmp_path: Path) -> None:
    added = Extensions(tokens=[Expired()], authorizers=[Nobody()], admission=[Slow()])

    async def run() -> None:
        chosen = options(tmp_path, authorization="AlwaysAllow", insecure_http=True)
        async with ApiServer(chosen, added) as server:
            codes = [await asyncio.to_thread(code_for, server, token) for token in ("bert", "old", "unknown")]
            assert codes == [403, 401, 401]
            async with RestClient(load_config(server.kubeconfig)) as rest:
                maps = await DynamicClient(rest).of_kind("v1", "ConfigMap", namespace="default")
                refused = await refusal(maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}})
                assert (refused.code, refused.message) == (418, "not in here")

    asyncio.run(run())


def test_servers_share_a_loop_and_leave_signals_alone(tmp_path: Path) -> None:
    async def run() -> None:
        before = signal.getsignal(signal.SIGTERM)
        async with ApiServer(options(tmp_path / "a")) as one, ApiServer(options(tmp_path / "b")) as two:
            assert one.urls != two.urls
            assert signal.getsignal(signal.SIGTERM) is before
            with pytest.raises(RuntimeError, match="cannot be started"):
                await one.start()

    asyncio.run(run())


def test_what_keeps_it_from_starting_is_one_line(tmp_path: Path) -> None:
    async def run() -> None:
        with pytest.raises(StartupError, match="--app: "):
            async with ApiServer(options(tmp_path, app="nowhere:registry")):
                pass

    asyncio.run(run())

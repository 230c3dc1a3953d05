"""Whoever found a definition as it was, and asks for its objects after it has changed or gone."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import until

from watchkeeper.client.kubeconfig import load_config
from watchkeeper.client.rest import RestClient
from watchkeeper.endpoints.scope import ServedResource
from watchkeeper.registry.rest import Context
from watchkeeper.request.user import LOOPBACK
from watchkeeper.serving import ApiServer, ServeOptions
from watchkeeper.storage.interface import ListOptions

Object = dict[str, Any]

NAME = "widgets.a.example.io"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def version(name: str, **more: Any) -> Object:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, **more}
    return {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}}


DEFINITION: Object = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": NAME},
    "spec": {
        "group": "a.example.io",
        "names": {"kind": "Widget", "plural": "widgets"},
        "scope": "Namespaced",
        "versions": [version("v1"), version("v2")],
    },
}


def described(obj: Object) -> None:
    obj["spec"]["versions"] = [version("v1", description="A widget."), version("v2")]


def defaulted(obj: Object) -> None:
    n = {"n": {"type": "integer", "default": 1}}
    obj["spec"]["versions"] = [version("v1", properties=n), version("v2", properties=n)]


def stored_at_another(obj: Object) -> None:
    for each in obj["spec"]["versions"]:
        each["storage"] = each["name"] == "v2"


async def names(resource: ServedResource) -> list[str]:
    found = await resource.scope.store.list(Context(user=LOOPBACK, namespace=""), ListOptions())
    return [item.key.rpartition("/")[2] for item in found.items]


@pytest.mark.parametrize("change", [described, defaulted, None])
def test_an_earlier_state_that_was_never_asked_before_leaves_nothing_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, change: Callable[[Object], None] | None
) -> None:
    async def scenario() -> None:
        options = ServeOptions(data_dir=tmp_path, storage="memory:", port=0, controllers=())
        async with ApiServer(options) as server, RestClient(load_config(server.kubeconfig)) as rest:
            served, scheme = server.assembly.served, server.assembly.scheme

            def found() -> ServedResource | None:
                return served.find("a.example.io", "v2", "widgets")

            await rest.request("POST", DEFINITIONS, body=copy.deepcopy(DEFINITION))
            await until(found)
            widget = {"apiVersion": "a.example.io/v1", "kind": "Widget", "metadata": {"name": "a"}}
            await until(lambda: server.assembly.custom.controller.is_established(NAME))
            await rest.request("POST", "/apis/a.example.io/v1/namespaces/default/widgets", body=widget)
            earlier = found()
            assert earlier is not None
            assert not earlier.is_made
            if change is None:
                await rest.request("DELETE", f"{DEFINITIONS}/{NAME}")
            else:
                definition = await rest.request("GET", f"{DEFINITIONS}/{NAME}")
                change(definition)
                await rest.request("PUT", f"{DEFINITIONS}/{NAME}", body=definition)
            await until(lambda: found() is not earlier if change else found() is None)
            kind = earlier.info.kind
            if now := found():
                assert now.scope.kind is scheme.kind(kind)
            assert await names(earlier) == ([] if now is None else ["a"])
            if now is None:
                assert not scheme.recognizes(kind)
            else:
                assert now.scope.kind is scheme.kind(kind)
        assert [t.get_name() for t in asyncio.all_tasks() if t is not asyncio.current_task()] == []

    with caplog.at_level(logging.WARNING, "watchkeeper"):
        asyncio.run(scenario())
    assert caplog.messages == []


@pytest.mark.parametrize("asked_before", [True, False])
def test_a_request_on_its_way_knows_its_kind_whatever_becomes_of_the_definition(
    tmp_path: Path, asked_before: bool
) -> None:
    async def scenario() -> None:
        options = ServeOptions(data_dir=tmp_path, storage="memory:", port=0, controllers=())
        async with ApiServer(options) as server, RestClient(load_config(server.kubeconfig)) as rest:
            served, scheme = server.assembly.served, server.assembly.scheme

            def found() -> ServedResource | None:
                return served.find("a.example.io", "v2", "widgets")

            await rest.request("POST", DEFINITIONS, body=copy.deepcopy(DEFINITION))
            await until(lambda: server.assembly.custom.controller.is_established(NAME))
            earlier = found()
            assert earlier is not None
            kind = earlier.info.kind
            if asked_before:
                assert earlier.scope.kind is scheme.kind(kind)
            definition = await rest.request("GET", f"{DEFINITIONS}/{NAME}")
            stored_at_another(definition)
            await rest.request("PUT", f"{DEFINITIONS}/{NAME}", body=definition)
            await until(lambda: found() is not earlier)
            versions = earlier.scope.versions
            assert scheme.recognizes(kind)
            widget: Object = {"apiVersion": "a.example.io/v2", "kind": "Widget", "metadata": {"name": "a"}, "n": 1}
            assert versions.decode(copy.deepcopy(widget), kind) == widget
            now = found()
            assert now is not None
            assert now.scope.kind is scheme.kind(kind)
            await rest.request("DELETE", f"{DEFINITIONS}/{NAME}")
            await until(lambda: found() is None)
            assert not scheme.recognizes(kind)
            assert versions.decode(copy.deepcopy(widget), kind) == widget
            assert versions.restore(copy.deepcopy(widget), kind) == widget

    asyncio.run(scenario())

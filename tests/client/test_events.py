"""Events: written once, counted up, and never in the way."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from watchkeeper.client import events
from watchkeeper.client.config import ClientConfig
from watchkeeper.client.dynamic import DynamicClient
from watchkeeper.client.events import EVENTS, NORMAL, WARNING, EventRecorder
from watchkeeper.client.rest import RestClient
from watchkeeper.meta.gvk import GroupVersionResource
from watchkeeper.testing.clock import ManualClock

MAPS = GroupVersionResource("", "v1", "configmaps")


def run(test: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(test, 20))


def test_events_about_an_object_are_written_and_repetitions_counted(kit: Any, namespace: str) -> None:
    async def scenario() -> None:
        client = kit.dynamic()
        made = await client.resource(MAPS, namespace=namespace).create({"metadata": {"name": "a"}})
        async with EventRecorder(client, "tester", instance="one") as recorder:
            for _ in range(3):
                recorder.event(made, NORMAL, "Made", "it was made")
            recorder.event(made, WARNING, "Lost", "it was lost")
        found = (await client.resource(EVENTS, namespace=namespace).list())["items"]
        told = {e["reason"]: e for e in found}
        assert {reason: e["count"] for reason, e in told.items()} == {"Made": 3, "Lost": 1}
        event = told["Made"]
        assert (event["type"], event["message"]) == ("Normal", "it was made")
        assert event["source"] == {"component": "tester", "host": "one"}
        involved = event["involvedObject"]
        assert (involved["kind"], involved["name"], involved["uid"]) == ("ConfigMap", "a", made["metadata"]["uid"])
        await client.rest.close()

    run(scenario())


def test_an_event_that_is_gone_is_written_anew(kit: Any, namespace: str) -> None:
    async def scenario() -> None:
        client = kit.dynamic()
        events = client.resource(EVENTS, namespace=namespace)
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}}
        async with EventRecorder(client, "tester") as recorder:
            recorder.event(obj, NORMAL, "Made", "it was made")
            while not (await events.list())["items"]:
                await asyncio.sleep(0.01)
            await events.delete_collection()
            recorder.event(obj, NORMAL, "Made", "it was made")
        assert [e["count"] for e in (await events.list())["items"]] == [1]
        await client.rest.close()

    run(scenario())


def test_too_many_events_about_one_object_are_dropped(kit: Any, namespace: str) -> None:
    async def scenario() -> None:
        client, clock = kit.dynamic(), ManualClock()
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}}
        async with EventRecorder(client, "tester", clock=clock) as recorder:
            for number in range(40):
                recorder.event(obj, NORMAL, "Made", f"number {number}")
                await clock.advance(0.001)
            await clock.advance(301)
            recorder.event(obj, NORMAL, "Made", "later")
        messages = [e["message"] for e in (await client.resource(EVENTS, namespace=namespace).list())["items"]]
        assert len(messages) == 26
        assert "later" in messages
        await client.rest.close()

    run(scenario())


def test_a_server_that_is_away_loses_events_and_nothing_else() -> None:
    async def scenario() -> None:
        client = DynamicClient(RestClient(ClientConfig(url="http://127.0.0.1:1")))
        async with EventRecorder(client, "tester") as recorder:
            recorder.event({"metadata": {"name": "a"}}, NORMAL, "Made", "it was made")
        recorder.event({"metadata": {"name": "a"}}, NORMAL, "Made", "after the end")
        assert "0 to write" in repr(recorder)

    run(scenario())


def test_no_object_and_no_message_makes_the_teller_fail(kit: Any, namespace: str) -> None:
    async def scenario() -> None:
        client = kit.dynamic()
        obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": namespace}}
        recorder = EventRecorder(client, "tester")
        for wrong in ({}, {"metadata": {}}, {"metadata": None}, None):
            recorder.event(wrong, NORMAL, "Made", "it was made")  # type: ignore[arg-type]
        recorder.event(obj, NORMAL, "Odd", object())  # type: ignore[arg-type]
        recorder.event(obj, NORMAL, "Made", "it was made")
        await recorder.close()
        recorder.event(obj, NORMAL, "Late", "nobody writes any more")
        found = (await client.resource(EVENTS, namespace=namespace).list())["items"]
        assert [event["reason"] for event in found] == ["Made"]
        await client.rest.close()

    run(scenario())


def test_a_server_that_does_not_answer_is_not_waited_for_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "_CLOSE_SECONDS", 0.05)

    async def scenario() -> None:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        client = DynamicClient(RestClient(ClientConfig(url=f"http://127.0.0.1:{port}")))
        recorder = EventRecorder(client, "tester")
        recorder.event({"metadata": {"name": "a"}}, NORMAL, "Made", "it was made")
        await asyncio.wait_for(recorder.close(), 5)
        await client.rest.close()
        server.close()

    run(scenario())

"""Watchers of a run end when they know of the final change, however they learned of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from fault_client import Client, NoAnswer, Refused
from fault_history import Change, Outcome, Write, check
from fault_workload import LAST_COLOR, NAMESPACES, Workload, key_of, state_of

FIRST = 5
"""The revision of the only change before the final one."""


def configmap(name: str, token: str, color: str, revision: int) -> dict[str, Any]:
    meta = {"namespace": NAMESPACES[0], "name": name, "labels": {"color": color}, "resourceVersion": str(revision)}
    return {"metadata": meta, "data": {"op": token}}


class Scripted(Client):
    """A server with one object, to which the final change is added; what is peculiar to it is left to subclasses."""

    def __init__(self) -> None:
        super().__init__(0, "")
        self.objects = [configmap("one", "first", "red", FIRST)]
        self.changed = asyncio.Event()

    def add(self, body: dict[str, Any]) -> dict[str, Any]:
        added = configmap(body["metadata"]["name"], body["data"]["op"], LAST_COLOR, FIRST + len(self.objects))
        self.objects.append(added)
        self.changed.set()
        return added

    async def call(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, Any]:
        if method == "POST":
            return 201, self.add(body) if "data" in body else {}
        revision = self.objects[-1]["metadata"]["resourceVersion"]
        return 200, {"metadata": {"resourceVersion": revision}, "items": self.objects}

    async def stream(self, path: str) -> AsyncIterator[dict[str, Any]]:
        start = int(path.partition("resourceVersion=")[2].partition("&")[0])
        for _ in range(2):
            for obj in self.objects:
                if int(obj["metadata"]["resourceVersion"]) > start:
                    start = int(obj["metadata"]["resourceVersion"])
                    yield {"type": "ADDED", "object": obj}
            await self.changed.wait()


def run(client: Scripted) -> list[str]:
    """All writers have ended; one watcher waits for the final change. Returns what the checker says."""

    async def go() -> list[str]:
        workload = Workload(lambda: client, seed=1, writers=0, readers=0, watchers=1)
        await workload.begin()
        await asyncio.sleep(0)
        last = await workload.finish(seconds=2)
        log = [Change((state := state_of(obj)).revision, key_of(obj), state) for obj in client.objects]
        workload.history.writes.append(Write(log[0].key, 0, 0, Outcome.DONE, "first", revision=FIRST))
        return check(workload.history, log, last=last)

    return asyncio.run(asyncio.wait_for(go(), 10))


def test_a_watcher_is_told_of_the_final_change() -> None:
    assert run(Scripted()) == []


def test_a_watcher_whose_version_has_expired_learns_of_the_final_change_from_its_list() -> None:
    """No watch from that list tells of it again."""

    class Restarted(Scripted):
        async def stream(self, path: str) -> AsyncIterator[dict[str, Any]]:
            await self.changed.wait()
            if f"resourceVersion={FIRST}&" in path:
                raise Refused(410, "too old resource version")
            await asyncio.sleep(0.01)
            nothing: list[dict[str, Any]] = []
            for event in nothing:
                yield event

    assert run(Restarted()) == []


def test_a_watcher_does_not_take_an_attempt_without_an_answer_for_the_final_change() -> None:
    """It was carried out, but nobody knows; it is the second one that every watcher has to be told of."""

    class Hasty(Scripted):
        async def call(
            self, method: str, path: str, body: Any = None, kind: str = "application/json"
        ) -> tuple[int, Any]:
            if method == "POST" and "data" in body and len(self.objects) == 1:
                self.add(body)
                raise NoAnswer
            return await super().call(method, path, body, kind)

    assert run(Hasty()) == []


def test_a_watcher_that_resumes_behind_what_it_was_not_told_is_found() -> None:
    class Forgetful(Scripted):
        async def stream(self, path: str) -> AsyncIterator[dict[str, Any]]:
            await self.changed.wait()
            await asyncio.sleep(0.01)
            revision = self.objects[-1]["metadata"]["resourceVersion"]
            yield {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": revision}}}

    assert any("was never told of revision" in found for found in run(Forgetful()))

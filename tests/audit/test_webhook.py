"""Audit events that are sent to a webhook."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.waiting import until

from watchkeeper.audit import sinks
from watchkeeper.audit.sinks import AllSinks, Sink, Truncating
from watchkeeper.audit.webhook import AuditWebhook, WebhookOptions
from watchkeeper.webhook.backend import BackendError


class Target:
    """Keeps what is posted, and fails or waits when it is told to."""

    def __init__(self) -> None:
        self.posts: list[Any] = []
        self.failing = False
        self.gate = asyncio.Event()
        self.gate.set()

    async def post_patiently(self, body: bytes, first_wait: float, *, always: bool = False) -> bytes:
        assert always
        await self.gate.wait()
        if self.failing:
            raise BackendError("refused", passing=False)
        self.posts.append(json.loads(body))
        return b""

    def close(self) -> None:
        pass

    @property
    def batches(self) -> list[list[str]]:
        return [[item["auditID"] for item in post["items"]] for post in self.posts]


def event(name: str, **fields: Any) -> bytes:
    head = {"kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Metadata", "auditID": name}
    return json.dumps({**head, **fields}, separators=(",", ":")).encode() + b"\n"


def run(test: Callable[[Target], Awaitable[None]]) -> None:
    async def main() -> None:
        await test(Target())

    asyncio.run(main())


def started(target: Target, **options: Any) -> AuditWebhook:
    webhook = AuditWebhook(target, WebhookOptions(**options))
    webhook.start()
    return webhook


def test_events_are_sent_as_a_list() -> None:
    async def test(target: Target) -> None:
        webhook = started(target, max_batch_wait=0.01)
        webhook.write(event("a"))
        webhook.write(event("b"))
        await until(lambda: target.posts)
        await webhook.close()
        items = [{"level": "Metadata", "auditID": name} for name in "ab"]
        head = {"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "metadata": {}}
        assert target.posts == [{**head, "items": items}]

    run(test)


def test_a_full_batch_goes_at_once_and_others_when_they_have_waited() -> None:
    async def test(target: Target) -> None:
        webhook = started(target, max_batch_size=2, max_batch_wait=0.05)
        for name in "abcde":
            webhook.write(event(name))
        await until(lambda: len(target.posts) == 2)
        assert target.batches == [["a", "b"], ["c", "d"]]
        await until(lambda: len(target.posts) == 3)
        assert target.batches[2] == ["e"]
        webhook.write(event("f"))
        await until(lambda: len(target.posts) == 4)
        await webhook.close()

    run(test)


def test_batches_are_held_back_when_there_are_too_many() -> None:
    async def test(target: Target) -> None:
        webhook = started(target, max_batch_size=1, qps=20.0, burst=2)
        loop = asyncio.get_running_loop()
        start = loop.time()
        for name in "abcd":
            webhook.write(event(name))
        await until(lambda: len(target.posts) == 4)
        assert loop.time() - start >= 0.09
        await webhook.close()

    run(test)


def test_what_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(target: Target) -> None:
        webhook = started(target, buffer_size=2)
        for name in "abc":
            webhook.write(event(name))
        assert webhook.errors() == {"webhook": 0, "buffered": 1}
        await webhook.close()
        assert target.batches == [["a", "b"]]
        target.gate.clear()
        monkeypatch.setattr(sinks, "MAX_WAITING", len(event("a")))
        slow = started(target, max_batch_size=1)
        slow.write(event("a"))
        await asyncio.sleep(0.01)
        slow.write(event("b"))
        assert slow.errors() == {"webhook": 0, "buffered": 1}
        target.gate.set()
        await slow.close()

    run(test)


def test_the_end_sends_what_is_left_and_takes_no_more() -> None:
    async def test(target: Target) -> None:
        webhook = started(target, max_batch_size=2)
        for name in "abc":
            webhook.write(event(name))
        await webhook.close()
        assert target.batches == [["a", "b"], ["c"]]
        webhook.write(event("d"))
        assert webhook.errors()["buffered"] == 1

    run(test)


def test_the_end_does_not_wait_forever(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test(target: Target) -> None:
        monkeypatch.setattr("watchkeeper.audit.webhook._FLUSH_SECONDS", 0.02)
        target.gate.clear()
        webhook = started(target)
        webhook.write(event("a"))
        await webhook.close()
        assert webhook.errors()["webhook"] == 1

    run(test)


def test_what_cannot_be_sent_is_counted() -> None:
    async def test(target: Target) -> None:
        target.failing = True
        webhook = started(target)
        webhook.write(event("a"))
        webhook.write(event("b"))
        await webhook.close()
        assert webhook.errors() == {"webhook": 2, "buffered": 0}

    run(test)


@pytest.mark.parametrize(("mode", "strict"), [("blocking", False), ("blocking-strict", True)])
def test_answers_wait_for_events_that_are_sent_one_by_one(mode: str, strict: bool) -> None:
    async def test(target: Target) -> None:
        webhook = started(target, mode=mode)
        assert (webhook.blocking, webhook.strict) == (True, strict)
        target.gate.clear()
        webhook.write(event("a"))
        first = asyncio.ensure_future(webhook.written())
        webhook.write(event("b"))
        second = asyncio.ensure_future(webhook.written())
        await asyncio.sleep(0.01)
        assert not first.done()
        target.gate.set()
        assert await first and await second
        assert sorted(target.batches) == [["a"], ["b"]]
        target.failing = True
        webhook.write(event("c"))
        assert not await webhook.written()
        await webhook.close()

    run(test)


class Lines:
    """Keeps lines."""

    def __init__(self, *, blocking: bool = False, strict: bool = False, works: bool = True) -> None:
        self.lines: list[bytes] = []
        self.blocking = blocking
        self.strict = strict
        self._works = works

    def write(self, line: bytes) -> None:
        self.lines.append(line)

    async def written(self) -> bool:
        return self._works

    def errors(self) -> dict[str, int]:
        return {"log": 1}

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("told", "written"),
    [
        ([Lines(blocking=True, works=False), Lines(blocking=True, strict=True)], True),
        ([Lines(blocking=True), Lines(blocking=True, strict=True, works=False)], False),
        ([Lines(works=False), Lines(blocking=True)], True),
    ],
)
def test_several_are_told_of_everything(told: list[Sink], written: bool) -> None:
    async def main() -> bool:
        every = AllSinks(told)
        every.write(b"x\n")
        assert (every.blocking, every.strict) == (True, any(sink.strict for sink in told))
        assert every.errors() == {"log": 2}
        return await every.written()

    assert asyncio.run(main()) is written
    assert [sink.lines for sink in told if isinstance(sink, Lines)] == [[b"x\n"], [b"x\n"]]


def test_events_that_are_too_large_lose_their_objects() -> None:
    lines = Lines()
    truncating = Truncating(lines, 200)
    truncating.write(event("small", level="RequestResponse", requestObject={"a": "x"}))
    large = {"requestObject": {"a": "x" * 200}, "responseObject": {}, "annotations": {"z": "1"}}
    truncating.write(event("large", level="Request", **large))
    truncating.write(event("bare", userAgent="x" * 200))
    truncating.write(event("both", level="Request", userAgent="x" * 200, requestObject={}))
    found = [json.loads(line) for line in lines.lines]
    assert [each["auditID"] for each in found] == ["small", "large"]
    assert "requestObject" in found[0]
    assert found[1] == {
        "kind": "Event",
        "apiVersion": "audit.k8s.io/v1",
        "level": "Request",
        "auditID": "large",
        "annotations": {"z": "1", "audit.k8s.io/truncated": "true"},
    }
    assert truncating.errors() == {"log": 1, "truncate": 2}


@pytest.mark.parametrize("works", [True, False])
def test_no_request_fails_for_an_event_that_is_too_large_to_be_told(works: bool) -> None:
    async def main() -> list[bool]:
        truncating = Truncating(Lines(blocking=True, strict=True, works=works), 200)
        told = []
        for name, fields in (("small", {}), ("large", {"userAgent": "x" * 200}), ("next", {})):
            truncating.write(event(name, **fields))
            told.append(await truncating.written())
        return told

    assert asyncio.run(main()) == [works, True, works]

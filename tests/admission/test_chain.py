"""The chain asks whom a write concerns, in order, and waits only for those who have to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any

import pytest

from watchkeeper.admission.interface import Attributes, BasePlugin, Chain, Operation, Reinvocation
from watchkeeper.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

PODS = GroupResource("", "pods")


class Noting(BasePlugin):
    """Notes that it was asked; waits if it is to."""

    deep = False

    def __init__(self, name: str, asked: list[str], *, waits: bool = False) -> None:
        self.name = name
        self.asked = asked
        self.waits = waits

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._note(f"{self.name} admits")

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._note(f"{self.name} validates")

    def _note(self, text: str) -> Awaitable[None] | None:
        if self.waits:
            return self._later(text)
        self.asked.append(text)
        return None

    async def _later(self, text: str) -> None:
        await asyncio.sleep(0)
        self.asked.append(text)


class OfPods(Noting):
    """Has something to say about new Pods only."""

    operations = frozenset({Operation.CREATE})
    resources = frozenset({PODS})


class OnceMore(Noting):
    """Asks for one more pass."""

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        if attributes.reinvocation is None:
            attributes.reinvocation = Reinvocation()
        attributes.reinvocation.requested = True
        return super().admit(attributes)


def write(resource: str = "pods", operation: Operation = Operation.CREATE, group: str = "") -> Attributes:
    return Attributes(
        operation=operation,
        kind=GroupVersionKind(group, "v1", "Any"),
        resource=GroupVersionResource(group, "v1", resource),
        namespace="default",
        name="x",
        user=User("me"),
        options=None,
        obj={},
    )


def test_plugins_that_need_not_wait_are_done_at_once() -> None:
    asked: list[str] = []
    chain = Chain([Noting("a", asked), Noting("b", asked)])
    assert chain.admit(write()) is None
    assert chain.validate(write()) is None
    assert asked == ["a admits", "b admits", "a validates", "b validates"]


def test_those_behind_a_plugin_that_waits_come_after_it() -> None:
    asked: list[str] = []
    chain = Chain([Noting("a", asked), Noting("b", asked, waits=True), Noting("c", asked)])

    async def judge() -> None:
        await chain.judge(write())

    asyncio.run(judge())
    assert asked == [f"{name} {what}" for what in ("admits", "validates") for name in "abc"]


@pytest.mark.parametrize(
    ("asking", "expected"),
    [
        ({}, ["all admits", "pods admits"]),
        ({"operation": Operation.UPDATE}, ["all admits"]),
        ({"resource": "nodes"}, ["all admits"]),
        ({"group": "example.com"}, ["all admits"]),
    ],
)
def test_plugins_are_asked_only_about_their_operations_and_resources(
    asking: dict[str, Any], expected: list[str]
) -> None:
    asked: list[str] = []
    chain = Chain([Noting("all", asked), OfPods("pods", asked)])
    for _ in range(2):  # the second time from what is remembered
        asked.clear()
        chain.admit(write(**asking))
        assert asked == expected


def test_one_more_pass_runs_all_plugins_again_and_only_once() -> None:
    asked: list[str] = []
    chain = Chain([Noting("a", asked), OnceMore("b", asked), Noting("c", asked, waits=True)])
    asyncio.run(chain.judge(write()))
    assert asked[:6] == ["a admits", "b admits", "c admits"] * 2
    assert asked[6:] == ["a validates", "b validates", "c validates"]


def test_a_write_is_refused_by_the_first_plugin_that_raises() -> None:
    class Refusing(BasePlugin):
        def validate(self, attributes: Attributes) -> Awaitable[None] | None:
            raise PermissionError("no")

    asked: list[str] = []
    with pytest.raises(PermissionError):
        Chain([Noting("a", asked), Refusing(), Noting("b", asked)]).validate(write())
    assert asked == ["a validates"]

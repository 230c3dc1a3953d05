"""A running server forgets its history, so that a database does not grow for ever."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from watchkeeper import testing
from watchkeeper.kv.errors import Compacted
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.server import Server
from watchkeeper.testing.handle import RequestFailed

TEMPLATE = {"spec": {"containers": [{"name": "c", "image": "i"}]}}


def test_old_revisions_are_forgotten(tmp_path: Path) -> None:
    async def scenario() -> None:
        server = Server(ServeOptions(data_dir=tmp_path, port=0, insecure_http=True, compaction_interval=0.1))
        await server.start()
        try:
            first = await server.kv.optimistic_put(b"/x", b"old", 0)
            await server.kv.optimistic_put(b"/x", b"new", first.revision)
            async with asyncio.timeout(20):
                with pytest.raises(Compacted):
                    while True:
                        await server.kv.get(b"/x", revision=first.revision)
                        await asyncio.sleep(0.05)
            found = (await server.kv.get(b"/x")).kv
            assert found is not None
            assert found.value == b"new"
        finally:
            await server.stop()

    asyncio.run(scenario())


def test_a_negative_interval_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match="--compaction-interval -1 is negative"):
        ServeOptions(data_dir=tmp_path, compaction_interval=-1).check()


def test_pages_of_a_resource_that_stays_as_it_is_expire_too() -> None:
    """The cache still knows the revision; clients expect to be sent on to the present all the same."""
    with testing.Server(insecure_http=True, controllers=(), storage="memory:", compaction_interval=0.2) as server:
        path = "/api/v1/namespaces/default/podtemplates"
        for name in "abcd":
            server.request("POST", path, {"metadata": {"name": name}, "template": TEMPLATE})
        first = server.request("GET", f"{path}?limit=2")
        token = first["metadata"]["continue"]
        until = time.monotonic() + 20
        with pytest.raises(RequestFailed) as caught:
            while time.monotonic() < until:
                server.request("GET", f"{path}?limit=1&continue={token}")
                time.sleep(0.05)
        expired = caught.value
        assert (expired.status, expired.answer["reason"]) == (410, "Expired")
        rest = server.request("GET", f"{path}?limit=1&continue={expired.answer['metadata']['continue']}")
        assert [item["metadata"]["name"] for item in rest["items"]] == ["c"]
        assert int(rest["metadata"]["resourceVersion"]) > int(first["metadata"]["resourceVersion"])

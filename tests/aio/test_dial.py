"""Where hosts are, and why they cannot be reached."""

import asyncio
from typing import Any

import pytest

from watchkeeper.aio.dial import addresses_of


def test_a_host_has_addresses_or_is_none() -> None:
    assert asyncio.run(addresses_of("127.0.0.1")) == ["127.0.0.1"]
    assert asyncio.run(addresses_of("::1")) == ["::1"]
    for host in ("no-such-host.invalid", "a" * 64, ".."):
        with pytest.raises(ValueError, match=r"^lookup .*: no such host$"):
            asyncio.run(addresses_of(host))


def test_nobody_waits_for_a_name_server_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    async def silent(*_: Any, **__: Any) -> None:
        await asyncio.Event().wait()

    async def run() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", silent)
        await addresses_of("slow.example.com", timeout=0.01)

    with pytest.raises(ValueError, match=r"^lookup slow\.example\.com: i/o timeout$"):
        asyncio.run(run())

"""The endpoints of the Service `kubernetes` are the servers that live."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from watchkeeper.kv.errors import Unavailable
from watchkeeper.kv.interface import KV, RangeResult
from watchkeeper.kv.memory import MemoryKV
from watchkeeper.server.own_endpoints import INTERVAL, LEASE_SECONDS, AddressLeases, OwnEndpoints
from watchkeeper.storage.backend import BackendConfig
from watchkeeper.storage.factory import StorageFactory
from watchkeeper.testing.clock import ManualClock

ONE, TWO = "192.0.2.1", "192.0.2.2"


class Written:
    """What the endpoints were last written to be."""

    def __init__(self) -> None:
        self.addresses: list[str] = []

    async def __call__(self, addresses: Sequence[str]) -> None:
        self.addresses = list(addresses)


class Away(MemoryKV):
    """A store that does not answer any more, once it is told so."""

    away = False

    async def range(self, *args, **options) -> RangeResult:  # type: ignore[no-untyped-def]
        if self.away:
            raise Unavailable("no answer")
        return await super().range(*args, **options)


def with_store(test: Callable[[ManualClock, Callable[[str], OwnEndpoints], Written, Away], Awaitable[None]]) -> None:
    """Run a test over one store; it is given a clock and what makes the endpoints of a server at an address."""

    async def run() -> None:
        clock = ManualClock()
        kv = Away(clock=clock)

        async def open_kv(config: BackendConfig) -> KV:
            return kv

        factory = StorageFactory(BackendConfig(servers=("https://one:2379",)), open_kv, clock=clock)
        await factory.open()
        written = Written()
        try:
            await test(clock, lambda ip: OwnEndpoints(AddressLeases(factory), written, ip, clock=clock), written, kv)
        finally:
            await factory.close()

    asyncio.run(run())


def test_all_servers_are_among_them_in_order() -> None:
    async def test(clock: ManualClock, make: Callable[[str], OwnEndpoints], written: Written, kv: Away) -> None:
        two, one = make(TWO), make(ONE)
        await two.reconcile()
        assert written.addresses == [TWO]
        await one.reconcile()
        assert written.addresses == [ONE, TWO]

    with_store(test)


def test_one_that_is_not_heard_of_is_out_when_its_lease_has_run_out() -> None:
    async def test(clock: ManualClock, make: Callable[[str], OwnEndpoints], written: Written, kv: Away) -> None:
        one, two = make(ONE), make(TWO)
        await one.reconcile()
        await two.reconcile()
        await clock.advance(LEASE_SECONDS - 1)
        await two.reconcile()
        assert written.addresses == [ONE, TWO]
        await clock.advance(2)
        await two.reconcile()
        assert written.addresses == [TWO]

    with_store(test)


def test_one_that_lives_renews_its_lease_by_itself() -> None:
    async def test(clock: ManualClock, make: Callable[[str], OwnEndpoints], written: Written, kv: Away) -> None:
        one, two = make(ONE), make(TWO)
        one.start()
        for _ in range(6):
            await clock.advance(INTERVAL)
            await asyncio.sleep(0.01)
        await two.reconcile()
        assert written.addresses == [ONE, TWO]
        await one.close()

    with_store(test)


def test_one_that_stops_is_out_at_once_and_the_last_one_stays() -> None:
    async def test(clock: ManualClock, make: Callable[[str], OwnEndpoints], written: Written, kv: Away) -> None:
        one, two = make(ONE), make(TWO)
        await one.reconcile()
        await two.reconcile()
        await one.close()
        assert written.addresses == [TWO]
        await two.close()
        assert written.addresses == [TWO]
        await two.close()

    with_store(test)


def test_a_store_that_is_away_keeps_nobody_from_stopping() -> None:
    async def test(clock: ManualClock, make: Callable[[str], OwnEndpoints], written: Written, kv: Away) -> None:
        one = make(ONE)
        await one.reconcile()
        kv.away = True
        await asyncio.wait_for(one.close(), 5)
        assert written.addresses == [ONE]

    with_store(test)

"""Worker threads: order, contexts, errors, end."""

import asyncio
import threading
import time

import pytest

from watchkeeper.aio.workers import Workers, WorkersClosed


def test_jobs_of_one_thread_run_in_order_and_never_together() -> None:
    async def run() -> None:
        seen: list[int] = []
        workers = Workers("one", [seen], lambda context: context.append(-1))

        def job(number: int) -> int:
            time.sleep(0.001 * (3 - number % 3))
            seen.append(number)
            return number * 10

        results = await asyncio.gather(*(workers.run(lambda _, n=n: job(n)) for n in range(9)))
        assert results == [n * 10 for n in range(9)]
        await workers.close()
        assert seen == [*range(9), -1]

    asyncio.run(run())


def test_each_thread_has_its_own_context() -> None:
    async def run() -> None:
        workers = Workers("two", ["a", "b"], lambda _: None)
        barrier = threading.Barrier(2, timeout=5)

        def job(context: str) -> str:
            barrier.wait()
            return context

        assert sorted(await asyncio.gather(workers.run(job), workers.run(job))) == ["a", "b"]
        await workers.close()

    asyncio.run(run())


def test_an_error_reaches_whoever_waits_and_the_thread_goes_on() -> None:
    async def run() -> None:
        workers = Workers("one", [None], lambda _: None)

        def fail(_: None) -> None:
            raise KeyError("broken")

        with pytest.raises(KeyError, match="broken"):
            await workers.run(fail)
        assert await workers.run(lambda _: 5) == 5
        await workers.close()

    asyncio.run(run())


def test_submitted_jobs_report_on_the_event_loop() -> None:
    async def run() -> None:
        workers = Workers("one", [2], lambda _: None)
        reported: asyncio.Future[tuple[object, object, int]] = asyncio.get_running_loop().create_future()
        workers.submit(
            lambda context: context + 1,
            lambda result, error: reported.set_result((result, error, threading.get_ident())),
        )
        assert await reported == (3, None, threading.get_ident())
        await workers.close()

    asyncio.run(run())


def test_giving_up_waiting_does_not_hurt_the_job() -> None:
    async def run() -> None:
        done: list[int] = []
        workers = Workers("one", [None], lambda _: None)

        def job(_: None) -> None:
            time.sleep(0.02)
            done.append(1)

        with pytest.raises(TimeoutError):
            await asyncio.wait_for(workers.run(job), 0.001)
        await workers.close()
        assert done == [1]

    asyncio.run(run())


def test_closing_finishes_what_was_submitted_and_refuses_more() -> None:
    async def run() -> None:
        closed: list[str] = []
        workers = Workers("one", ["context"], closed.append)
        waiting = [asyncio.ensure_future(workers.run(lambda _, n=n: n)) for n in range(5)]
        await asyncio.sleep(0)
        await workers.close()
        await workers.close()
        assert [await task for task in waiting] == [0, 1, 2, 3, 4]
        assert closed == ["context"]
        with pytest.raises(WorkersClosed):
            await workers.run(lambda _: None)
        assert "closed" in repr(workers)

    asyncio.run(run())

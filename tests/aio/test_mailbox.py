"""The mailbox: order, refusal, end, and waiting that can be given up."""

import asyncio

import pytest

from watchkeeper.aio.mailbox import Mailbox


def test_items_come_in_the_order_they_were_put() -> None:
    async def run() -> None:
        mailbox: Mailbox[int] = Mailbox()
        assert mailbox.take_nowait() is None
        for item in range(3):
            assert mailbox.put_nowait(item)
        assert len(mailbox) == 3
        assert [mailbox.take_nowait(), await mailbox.take(), mailbox.take_nowait()] == [0, 1, 2]

    asyncio.run(run())


def test_a_full_mailbox_refuses_and_takes_again_when_there_is_room() -> None:
    mailbox: Mailbox[int] = Mailbox(capacity=2)
    assert [mailbox.put_nowait(item) for item in range(3)] == [True, True, False]
    assert mailbox.take_nowait() == 0
    assert mailbox.put_nowait(3)
    assert [mailbox.take_nowait(), mailbox.take_nowait()] == [1, 3]


def test_a_closed_mailbox_hands_out_the_rest_and_then_its_error_for_ever() -> None:
    async def run() -> None:
        mailbox: Mailbox[int] = Mailbox()
        mailbox.put_nowait(1)
        mailbox.close(KeyError("first"))
        mailbox.close(ValueError("later"))
        assert not mailbox.put_nowait(2)
        assert await mailbox.take() == 1
        for _ in range(2):
            with pytest.raises(KeyError, match="first"):
                await mailbox.take()
            with pytest.raises(KeyError, match="first"):
                mailbox.take_nowait()

    asyncio.run(run())


def test_closing_may_discard_what_waits() -> None:
    mailbox: Mailbox[int] = Mailbox()
    mailbox.put_nowait(1)
    mailbox.close(KeyError("end"), discard=True)
    with pytest.raises(KeyError, match="end"):
        mailbox.take_nowait()


def test_a_waiting_consumer_is_woken_by_an_item_and_by_the_end() -> None:
    async def run() -> None:
        mailbox: Mailbox[int] = Mailbox()
        waiting = asyncio.ensure_future(mailbox.take())
        await asyncio.sleep(0)
        with pytest.raises(RuntimeError, match="already waiting"):
            await mailbox.take()
        mailbox.put_nowait(7)
        assert await waiting == 7
        waiting = asyncio.ensure_future(mailbox.take())
        await asyncio.sleep(0)
        mailbox.close(KeyError("end"))
        with pytest.raises(KeyError, match="end"):
            await waiting

    asyncio.run(run())


def test_a_cancelled_wait_loses_no_item() -> None:
    async def run() -> None:
        mailbox: Mailbox[int] = Mailbox()
        waiting = asyncio.ensure_future(mailbox.take())
        await asyncio.sleep(0)
        mailbox.put_nowait(1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await asyncio.wait_for(mailbox.take(), 1) == 1

    asyncio.run(run())

"""The sizes of terminals that clients tell."""

from __future__ import annotations

import time

import pytest

from watchkeeper.server.backends.terminal_sizes import TerminalSizes

SIZE = b'{"Width":80,"Height":24}\n'


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_they_come_in_whatever_pieces(size: int) -> None:
    told = b' {"width":80,"Height":24}\r\n{"HEIGHT":24,"Width":80}{}'
    sizes = TerminalSizes()
    made = [each for at in range(0, len(told), size) for each in sizes.feed(told[at : at + size])]
    assert made == [SIZE, SIZE, b'{"Width":0,"Height":0}\n']


@pytest.mark.parametrize(
    "wrong",
    [b"x", b"[]", b'{"Width":-1}', b'{"Width":65536}', b'{"Width":"1"}', b'{"a":' + b"[" * 100_000, b"{" + b" " * 5000],
)
def test_what_is_none_ends_it(wrong: bytes) -> None:
    sizes = TerminalSizes()
    assert list(sizes.feed(SIZE + wrong)) == [SIZE]
    assert list(sizes.feed(b"}" + SIZE)) == []


def test_many_take_no_longer_than_their_number() -> None:
    sizes = TerminalSizes()
    began = time.process_time()
    assert len(list(sizes.feed(SIZE * 40_000))) == 40_000
    assert time.process_time() - began < 2

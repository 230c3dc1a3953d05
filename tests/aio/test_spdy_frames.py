"""The frames of SPDY, made and read again in whatever pieces."""

from __future__ import annotations

import struct
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.aio.spdy_frames import (
    DICTIONARY,
    Data,
    Frame,
    FrameReader,
    FrameWriter,
    GoneAway,
    Opened,
    Pinged,
    Replied,
    Reset,
    SpdyError,
    data,
    gone_away,
    ping,
    reset,
)

streams = st.integers(0, (1 << 31) - 1)
headers = st.dictionaries(st.text(max_size=20), st.text(max_size=50), max_size=5)
numbers = st.integers(0, (1 << 32) - 1)
frames = st.lists(
    st.one_of(
        st.builds(Opened, streams, headers, st.booleans()),
        st.builds(Replied, streams, headers, st.booleans()),
        st.builds(Reset, streams, numbers),
        st.builds(Pinged, numbers),
        st.builds(GoneAway, streams),
        st.builds(Data, streams, st.binary(max_size=300), st.booleans()),
    ),
    max_size=8,
)


def written(writer: FrameWriter, frame: Frame) -> bytes:
    match frame:
        case Opened(stream, named, last):
            return writer.opened(stream, named, last=last)
        case Replied(stream, named, last):
            return writer.replied(stream, named, last=last)
        case Reset(stream, status):
            return reset(stream, status)
        case Pinged(number):
            return ping(number)
        case GoneAway(stream):
            return gone_away(stream)
        case Data(stream, piece, last):
            return data(stream, piece, last=last)


@given(frames, st.lists(st.integers(0, 2000), max_size=6))
def test_what_is_written_is_read_in_whatever_pieces(given_frames: list[Frame], cuts: list[int]) -> None:
    writer, reader = FrameWriter(), FrameReader()
    sent = b"".join(written(writer, frame) for frame in given_frames)
    bounds = sorted({0, len(sent), *(cut for cut in cuts if cut < len(sent))})
    found: list[Frame] = []
    for start, end in pairwise(bounds):
        found += reader.feed(sent[start:end])
    for kind in (Opened, Replied, Reset, Pinged, GoneAway):
        assert [each for each in found if isinstance(each, kind)] == [
            each for each in given_frames if isinstance(each, kind)
        ]
    expected = [(each.stream, each.data) for each in given_frames if isinstance(each, Data)]
    pieces = [each for each in found if isinstance(each, Data)]
    assert b"".join(each.data for each in pieces) == b"".join(piece for _, piece in expected)
    assert [each.stream for each in pieces if each.last] == [
        each.stream for each in given_frames if isinstance(each, Data) and each.last
    ]


def test_the_dictionary_is_that_of_the_protocol() -> None:
    assert (len(DICTIONARY), zlib.adler32(DICTIONARY)) == (1423, 0xE3C6A7C2)


def test_data_is_handed_on_before_its_frame_is_whole() -> None:
    reader = FrameReader()
    frame = data(5, b"abcdef", last=True)
    assert list(reader.feed(frame[:10])) == [Data(5, b"ab", False)]
    assert list(reader.feed(frame[10:])) == [Data(5, b"cdef", True)]


def test_headers_that_nobody_asked_for_are_read_for_what_follows() -> None:
    sender, reader = FrameWriter(), FrameReader()
    block = sender.replied(3, {"a": "b"})[12:]
    noted = struct.pack(">HHII", 0x8003, 8, 4 + len(block), 3) + block
    assert list(reader.feed(noted + sender.replied(3, {"a": "c"}))) == [Replied(3, {"a": "c"}, False)]


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (struct.pack(">HHI", 0x8002, 6, 4) + b"abcd", "version 2 of the protocol"),
        (struct.pack(">HHI", 0x8003, 6, 2) + b"ab", "too short"),
        (struct.pack(">HHI", 0x8003, 2, (1 << 24) - 1), "a control frame of 16777215 bytes"),
        (struct.pack(">HHI", 0x8003, 2, 8) + b"\0\0\0\1oops", "cannot be decompressed"),
    ],
)
def test_what_is_no_frame_is_told(sent: bytes, why: str) -> None:
    with pytest.raises(SpdyError, match=why):
        list(FrameReader().feed(sent))


def test_headers_that_swell_are_refused() -> None:
    compressor = zlib.compressobj(zdict=DICTIONARY)
    block = compressor.compress(b"\0" * 10_000_000) + compressor.flush(zlib.Z_SYNC_FLUSH)
    with pytest.raises(SpdyError, match="too long"):
        list(FrameReader().feed(struct.pack(">HHII", 0x8003, 2, 4 + len(block), 1) + block))

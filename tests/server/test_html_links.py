"""Pages that are written anew with other links."""

from __future__ import annotations

import asyncio
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watchkeeper.endpoints.response import Stream
from watchkeeper.request.exchange import AnswerBroken
from watchkeeper.server.backends.html_links import LinkRewriter, _Compressed, rewritten
from watchkeeper.server.backends.links import Links

PAGES = [
    (b'<a href="/x">', b'<a href="/p/x">'),
    (b"<A HREF=/x>t</A>", b'<a href="/p/x">t</A>'),
    (b"<img src='/x' usemap=/y longdesc=\"z\" alt=/a>", b'<img src="/p/x" usemap="/p/y" longdesc="z" alt="/a">'),
    (b"<br/><br /><p a=/>", b'<br/><br/><p a="/">'),
    (b'<link href = "/x" href="/y"/>', b'<link href="/p/x"/>'),
    (b"<!-- <a href=/x> --><a href=/x>", b'<!-- <a href=/x> --><a href="/p/x">'),
    (b"<!--><a href=/x>", b'<!--><a href="/p/x">'),
    (b"<!DOCTYPE html><?x <a?><a href=/x>", b'<!DOCTYPE html><?x <a?><a href="/p/x">'),
    (b"<script>'<a href=/x>'</script><a href=/x>", b"<script>'<a href=/x>'</script><a href=\"/p/x\">"),
    (b"<textarea></tex <a href=/x></TEXTAREA ><q cite=/x>", b'<textarea></tex <a href=/x></TEXTAREA ><q cite="/p/x">'),
    (b"<plaintext><a href=/x>", b"<plaintext><a href=/x>"),
    (b'<a href="/x?a=1&amp;copy=2&copy=3&lt;">', b'<a href="/p/x?a=1&amp;copy=2&amp;copy=3&lt;">'),
    (b"<a title='\"<>&#39;&nbsp;'>", '<a title="&#34;&lt;&gt;&#39;\u00a0">'.encode()),
    (b"1 < 2 <3> </> </ x> </a href='>'>", b"1 < 2 <3> </> </ x> </a href='>'>"),
    (b"<a disabled href>", b'<a disabled="" href="">'),
    (b"\xff<a title=\xfe>", b'\xff<a title="\xfe">'),
    (b"<a href='/x", b"<a href='/x"),
    (b"<", b"<"),
]


SCRIPTS = [
    b"<script><!-- <script></script><a href=/x> --></script>",
    b"<script><!-- </script>",
    b"<script><!--></script>",
    b"<script><!-- < <script></script>",
    b"<script><!-- <script> --></script>",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_ends_where_it_does_for_browsers(script: bytes) -> None:
    page = script + b"<a href=/x>"
    for size in (1, 2, 3, len(page)):
        rewriter = LinkRewriter(moved)
        found = b"".join(rewriter.feed(page[at : at + size]) for at in range(0, len(page), size)) + rewriter.finish()
        assert found == script + b'<a href="/p/x">'


LINKS = [
    ("/a b?c d#e f", "/p/a%20b?c d#e%20f"),
    ("/(x)/!", "/p/%28x%29/%21"),
    ("/p/(x)", "/p/(x)"),
    ("/x?", "/p/x?"),
    ("/x/../y/", "/p/y/"),
    (" /x", "%20/x"),
    ("<x", "%3Cx"),
    ("javascript:go('/x')", "javascript:go('/x')"),
    ("HTTP://b:1/x", "/p/x"),
    ("http://b:1", "http://b:1"),
    ("http://s:1/x", "http://s:1/p/x"),
    ("//other/x", "//other/x"),
    ("http:/x", "/p/x"),
    ("///x", "/p/x"),
    ("?a", "?a"),
    ("#a", "#a"),
    ("", ""),
    ("/ü", "/p/%C3%BC"),
]


@pytest.mark.parametrize(("link", "expected"), LINKS)
def test_links_to_the_backend_lead_through_the_proxy(link: str, expected: str) -> None:
    assert Links("/p", "b:1", "s:1").moved(link) == expected


@pytest.mark.parametrize(
    ("link", "why"),
    [
        ("/%zz", 'parse "/%zz": invalid URL escape "%zz"'),
        ("/x#%z", 'parse "/x#%z": invalid URL escape "%z"'),
        ("a b:c", 'parse "a b:c": first path segment in URL cannot contain colon'),
        (":x", 'parse ":x": missing protocol scheme'),
        ("http://a b/", 'parse "http://a b/": invalid character " " in host name'),
        ("http://a:b/", 'parse "http://a:b/": invalid port ":b" after host'),
        ("/\x7f", 'parse "/\\x7f": net/url: invalid control character in URL'),
    ],
)
def test_what_is_no_link_is_told(link: str, why: str) -> None:
    with pytest.raises(ValueError) as problem:
        Links("/p", "b:1", "s:1").moved(link)
    assert str(problem.value) == why


def moved(link: str) -> str:
    return f"/p{link}" if link.startswith("/") else link


@pytest.mark.parametrize(("page", "expected"), PAGES)
def test_tags_are_written_anew(page: bytes, expected: bytes) -> None:
    rewriter = LinkRewriter(moved)
    assert rewriter.feed(page) + rewriter.finish() == expected
    rewriter = LinkRewriter(moved)
    assert b"".join(rewriter.feed(bytes((each,))) for each in page) + rewriter.finish() == expected


@given(st.lists(st.sampled_from([page for page, _ in PAGES[:-2] if b"plaintext" not in page]), max_size=6), st.data())
def test_pieces_make_no_difference(pages: list[bytes], data: st.DataObject) -> None:
    page = b" ".join(pages)
    whole = LinkRewriter(moved)
    expected = whole.feed(page) + whole.finish()
    cuts = data.draw(st.lists(st.integers(0, len(page)), max_size=8))
    rewriter = LinkRewriter(moved)
    bounds = sorted({0, len(page), *cuts})
    assert b"".join(rewriter.feed(page[a:b]) for a, b in pairwise(bounds)) + rewriter.finish() == expected


@given(st.binary())
def test_anything_is_a_page(page: bytes) -> None:
    rewriter = LinkRewriter(moved)
    assert isinstance(rewriter.feed(page) + rewriter.finish(), bytes)


class _Pieces:
    def __init__(self, body: bytes, size: int = 7) -> None:
        self._body = body
        self._size = size

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._made()

    async def _made(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self._body), self._size):
            yield self._body[at : at + self._size]

    async def aclose(self) -> None:
        pass


async def _joined(stream: Stream) -> bytes:
    return b"".join([piece async for piece in stream])


def all_of(body: bytes, encoding: bytes) -> bytes:
    return asyncio.run(_joined(rewritten(_Pieces(body), encoding, Links("/p", "b:1", "s:1"))))


@pytest.mark.parametrize(("encoding", "bits"), [(b"gzip", 31), (b"deflate", -15)])
def test_compressed_pages_are_compressed_again(encoding: bytes, bits: int) -> None:
    writer = zlib.compressobj(wbits=bits)
    page = b"<a href=/x>" + b" " * 1_000_000
    body = writer.compress(page) + writer.flush()
    assert zlib.decompress(all_of(body, encoding), bits) == b'<a href="/p/x">' + b" " * 1_000_000


def test_members_of_gzip_follow_each_other() -> None:
    members = [zlib.compressobj(wbits=31) for _ in range(2)]
    body = b"".join(each.compress(b"<a href=/x>") + each.flush() for each in members)
    assert zlib.decompress(all_of(body, b"gzip"), 31) == b'<a href="/p/x">' * 2


def test_what_follows_a_compressed_page_is_not_kept() -> None:
    writer = zlib.compressobj(wbits=31)
    body = writer.compress(b"<a href=/x>") + writer.flush()
    coder = _Compressed(LinkRewriter(moved), 31)
    made = b"".join(coder.feed(body))
    tracemalloc.start()
    try:
        for _ in range(200):
            made += b"".join(coder.feed(bytes(100_000)))
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
    assert zlib.decompress(made + coder.finish(), 31) == b'<a href="/p/x">'


def test_pages_that_are_long_when_decompressed_let_others_have_their_turn() -> None:
    writer = zlib.compressobj(wbits=31)
    body = writer.compress(b"<a b>" * 400_000) + writer.flush()

    async def longest_pause() -> float:
        pieces = rewritten(_Pieces(body, len(body)), b"gzip", Links("/p", "b:1", "s:1"))
        made = asyncio.ensure_future(_joined(pieces))
        longest, last = 0.0, time.process_time()
        while not made.done():
            await asyncio.sleep(0)
            longest, last = max(longest, time.process_time() - last), time.process_time()
        assert zlib.decompress(await made, 31) == b'<a b="">' * 400_000
        return longest

    assert asyncio.run(longest_pause()) < 0.5


@pytest.mark.parametrize("begin", [b"<a ", b"</a ", b"<!--", b"<a title='"])
@pytest.mark.parametrize("more", [b"a b c ", b"<a b ", b"-"])
def test_what_does_not_end_is_not_looked_at_again_with_each_byte(begin: bytes, more: bytes) -> None:
    page = begin + more * (30_000 // len(more))
    rewriter = LinkRewriter(moved)
    began = time.process_time()
    made = rewriter.feed(page) + b"".join(rewriter.feed(b"a") for _ in range(5000)) + rewriter.finish()
    assert time.process_time() - began < 2
    assert made == page + b"a" * 5000


def test_a_tag_with_more_attributes_than_anybody_writes_goes_on_as_it_is() -> None:
    many = b"<a " + b"b " * 600 + b"href=/x>"
    rewriter = LinkRewriter(moved)
    assert rewriter.feed(many + b"<a href=/x>") + rewriter.finish() == many + b'<a href="/p/x">'


def test_a_tag_that_is_cut_anywhere_is_whole_in_the_end() -> None:
    page = b"<a title='" + b"x" * 20_000 + b"' href=/x>"
    rewriter = LinkRewriter(moved)
    made = b"".join(rewriter.feed(page[at : at + 999]) for at in range(0, len(page), 999)) + rewriter.finish()
    assert made == b'<a title="' + b"x" * 20_000 + b'" href="/p/x">'


def test_what_cannot_be_read_is_broken_off_or_left_alone() -> None:
    with pytest.raises(AnswerBroken):
        all_of(b"no gzip", b"gzip")
    assert all_of(b"<a href=/x>", b"br") == b"<a href=/x>"

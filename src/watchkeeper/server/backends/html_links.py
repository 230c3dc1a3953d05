"""Pages behind a proxy: their links are led through it, piece by piece as they come.

What counts as a tag and its attributes, and how tags are written anew, is as in Go's x/net/html.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from html.entities import html5
from typing import NamedTuple, Protocol

from watchkeeper.aio.turns import in_turns
from watchkeeper.endpoints.response import Stream
from watchkeeper.request.exchange import AnswerBroken
from watchkeeper.server.backends.links import Links

_PIECE = 4 * 1024
"""Bytes of a page that are rewritten at a time, which takes some milliseconds if all of them are tags."""
_MAX_TAG = 128 * 1024
"""Bytes; a longer tag goes on as it is."""
_MAX_ATTRIBUTES = 500
"""A tag with more attributes goes on as it is."""
_GZIP = 31
_GZIP_BEGINS = 0x1F
_SMALL_TAG = 4 * 1024
"""Bytes; for the end of a longer one is looked when it has doubled, so that each byte is looked at a few times only."""
_ATTRIBUTES: dict[bytes, frozenset[bytes]] = {
    tag: frozenset(names.split())
    for tag, names in {
        b"a": b"href",
        b"applet": b"codebase",
        b"area": b"href",
        b"audio": b"src",
        b"base": b"href",
        b"blockquote": b"cite",
        b"body": b"background",
        b"button": b"formaction",
        b"command": b"icon",
        b"del": b"cite",
        b"embed": b"src",
        b"form": b"action",
        b"frame": b"longdesc src",
        b"head": b"profile",
        b"html": b"manifest",
        b"iframe": b"longdesc src",
        b"img": b"longdesc src usemap",
        b"input": b"src usemap formaction",
        b"ins": b"cite",
        b"link": b"href",
        b"object": b"classid codebase data usemap",
        b"q": b"cite",
        b"script": b"src",
        b"source": b"src",
        b"video": b"poster src",
    }.items()
}
"""Which attributes of which tags are links."""
_RAW = frozenset(b"iframe noembed noframes noscript plaintext script style textarea title xmp".split())
"""Tags behind which there are no tags but their own end."""
_name = re.compile(rb"[A-Za-z][^ \n\r\t\f/>]*").match
_blank = re.compile(rb"[ \n\r\t\f]*").match
_key = re.compile(rb"=?[^= \n\r\t\f/>]*").match
_bare = re.compile(rb"[^ \n\r\t\f>]*").match
_comment_end = re.compile(rb"--!?>").search
_short_comment = re.compile(rb"-*>").match
_TAG_END = rb"[ \n\r\t\f/>]"
_in_script = {
    state: re.compile(pattern, re.IGNORECASE).search
    for state, pattern in {
        "script": rb"</script" + _TAG_END + rb"|<!--",
        "comment": rb"-->|</script" + _TAG_END + rb"|<script" + _TAG_END + rb"|<[^/A-Za-z]",
        "script in comment": rb"-->|</script" + _TAG_END,
    }.items()
}
"""What changes the state of a script: in what looks like a comment, the end of one that begins there is not its end."""
_SCRIPT_END = 9
"""Bytes of the longest of these."""
_entity = re.compile(r"&(#[xX]?[0-9a-fA-F]+;?|[A-Za-z0-9]+;?)").sub
_ESCAPES = str.maketrans({"&": "&amp;", "'": "&#39;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "\r": "&#13;"})


class _Tag(NamedTuple):
    name: bytes
    attributes: dict[bytes, bytes]
    closed: bool
    """Whether it closes itself."""
    end: int


class _TooMany(Exception):
    """A tag has more attributes than anybody writes: it is no tag up to there."""

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


class LinkRewriter:
    """Writes a page anew as it comes. What may be the beginning of something is held until that is known."""

    def __init__(self, rewrite: Callable[[str], str]) -> None:
        """`rewrite` is given each link; it leaves one as it is by a ValueError."""
        self._rewrite = rewrite
        self._held = b""
        self._enough = 0
        """So many bytes have to be there before they are looked at."""
        self._raw = b""
        """The tag whose end is waited for."""
        self._script = "script"

    def __repr__(self) -> str:
        return f"<LinkRewriter, {len(self._held)} bytes held>"

    def feed(self, data: bytes) -> bytes:
        """What is known of the page after more of it has come, and was not returned before."""
        page = self._held + data
        if len(page) < self._enough:
            self._held = page
            return b""
        out: list[bytes] = []
        at = 0
        while at < len(page):
            ended = self._pass_raw(page, at, out) if self._raw else self._pass_text(page, at, out)
            if ended is None:
                break
            at = ended
        self._held = page[at:]
        if len(self._held) > _MAX_TAG:
            out.append(self._held)
            self._held = b""
        held = len(self._held)
        self._enough = 2 * held if held > _SMALL_TAG else 0
        return b"".join(out)

    def finish(self) -> bytes:
        """The rest, as the page is over."""
        self._enough = 0
        known = self.feed(b"")
        held, self._held = self._held, b""
        return known + held

    def _pass_raw(self, page: bytes, at: int, out: list[bytes]) -> int | None:
        """Go to the end of what has no tags; None when that did not come yet."""
        if self._raw == b"script":
            return self._pass_script(page, at, out)
        if self._raw != b"plaintext":
            end = re.compile(rb"</" + self._raw + rb"[ \n\r\t\f/>]", re.IGNORECASE).search(page, at)
            if end is not None:
                self._raw = b""
                out.append(page[at : end.start()])
                return end.start()
            keep = max(at, len(page) - len(self._raw) - 2)
            keep = page.find(b"<", keep)
            keep = len(page) if keep < 0 else keep
        else:
            keep = len(page)
        out.append(page[at:keep])
        return keep if keep > at else None

    def _pass_script(self, page: bytes, at: int, out: list[bytes]) -> int | None:
        """Go to where a script takes another turn; None when that did not come yet."""
        found = _in_script[self._script](page, at)
        if found is None:
            end = max(at, len(page) - _SCRIPT_END + 1)
        elif found[0][:2] == b"</" and self._script != "script in comment":
            self._raw = b""
            end = found.start()
        else:
            self._script, back = _turn(found[0], self._script)
            end = found.end() - back
        out.append(page[at:end])
        return end if found is not None or end > at else None

    def _pass_text(self, page: bytes, at: int, out: list[bytes]) -> int | None:
        """Go behind the next thing in angle brackets; None when its end did not come yet."""
        begin = page.find(b"<", at)
        if begin < 0:
            out.append(page[at:])
            return len(page)
        if begin > at:
            out.append(page[at:begin])
            return begin
        follows = page[at + 1 : at + 2]
        if not follows:
            return None
        if follows.isalpha():
            try:
                tag = _tag(page, at + 1)
            except _TooMany as problem:
                out.append(page[at : problem.at])
                return problem.at
            if tag is None:
                return None
            out.append(self._written(tag))
            self._raw = tag.name if tag.name in _RAW else b""
            self._script = "script"
            return tag.end
        if follows not in b"/!?":
            out.append(b"<")
            return at + 1
        end = _end_of_other(page, at)
        if end is None:
            return None
        out.append(page[at:end])
        return end

    def _written(self, tag: _Tag) -> bytes:
        links = _ATTRIBUTES.get(tag.name, frozenset())
        parts = [b"<", tag.name]
        for key, value in tag.attributes.items():
            text = _unescaped(value.replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode("utf-8", "surrogateescape"))
            if key in links:
                try:
                    text = self._rewrite(text)
                except ValueError:
                    pass
            parts += (b" ", key, b'="', text.translate(_ESCAPES).encode("utf-8", "surrogateescape"), b'"')
        parts.append(b"/>" if tag.closed else b">")
        return b"".join(parts)


def _turn(met: bytes, state: str) -> tuple[str, int]:
    """The state of a script behind what it came to, and how many bytes of that count for what follows, too."""
    if met == b"<!--":
        return "comment", 2
    if met == b"-->":
        return "script", 0
    if met[:2] == b"</":
        return "comment", 0
    return ("script in comment", 0) if len(met) > 2 else ("script", 1)


def _end_of_other(page: bytes, at: int) -> int | None:
    """Where an end tag, a comment or a declaration ends; None when that did not come yet."""
    if page.startswith(b"<!--", at):
        found = _short_comment(page, at + 4) or _comment_end(page, at + 4)
        return found.end() if found is not None else None
    if b"<!--".startswith(page[at:]):
        return None
    if page[at + 1 : at + 2] == b"/" and page[at + 2 : at + 3].isalpha():
        try:
            tag = _tag(page, at + 2)
        except _TooMany as problem:
            return problem.at
        return tag.end if tag is not None else None
    end = page.find(b">", at)
    return end + 1 if end >= 0 else None


def _tag(page: bytes, at: int) -> _Tag | None:
    """The tag whose name begins there; None when its end did not come yet. Raises _TooMany."""
    found = _name(page, at)
    assert found is not None
    name = found[0].lower()
    attributes: dict[bytes, bytes] = {}
    at = _behind_blanks(page, found.end())
    last = -1
    left = _MAX_ATTRIBUTES
    while at < len(page):
        if page[at : at + 1] == b">":
            closed = page[at - 1 : at] == b"/" and last != at
            return _Tag(name, attributes, closed, at + 1)
        if not left:
            raise _TooMany(at)
        left -= 1
        key = _key(page, at)
        assert key is not None
        value, end, at = _value(page, key.end())
        if key[0] and (lower := key[0].lower()) not in attributes:
            attributes[lower] = value
            last = end
        at = _behind_blanks(page, at)
    return None


def _value(page: bytes, at: int) -> tuple[bytes, int, int]:
    """What an attribute is, where that ends, and where to go on; beyond the page when it did not end yet."""
    nothing = at
    at = _behind_blanks(page, at)
    sign = page[at : at + 1]
    if sign == b"/":
        return b"", nothing, at + 1
    if sign != b"=":
        return b"", nothing, at
    at = _behind_blanks(page, at + 1)
    quote = page[at : at + 1]
    if quote in (b'"', b"'"):
        end = page.find(quote, at + 1)
        return (page[at + 1 : end], end, end + 1) if end >= 0 else (b"", nothing, len(page))
    bare = _bare(page, at)
    assert bare is not None
    return bare[0], bare.end() if bare[0] else nothing, bare.end()


def _behind_blanks(page: bytes, at: int) -> int:
    found = _blank(page, at)
    assert found is not None
    return found.end()


def _unescaped(text: str) -> str:
    """The value of an attribute, its character references resolved."""
    if "&" not in text:
        return text

    def resolve(found: re.Match[str]) -> str:
        name = found[1]
        if name.startswith("#"):
            from html import unescape

            return unescape(found[0])
        if not name.endswith(";") and text[found.end() : found.end() + 1] == "=":
            return found[0]
        return html5.get(name, found[0])

    return _entity(resolve, text)


class _Coder(Protocol):
    """Takes bytes of a body and gives back those of another one."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Those that there are after more has come."""
        ...

    def finish(self) -> bytes:
        """The rest."""
        ...


class _Plain:
    """A page as it is."""

    def __init__(self, rewriter: LinkRewriter) -> None:
        self._rewriter = rewriter

    def feed(self, data: bytes) -> Iterator[bytes]:
        """See `_Coder`."""
        for at in range(0, len(data), _PIECE):
            yield self._rewriter.feed(data[at : at + _PIECE])

    def finish(self) -> bytes:
        """See `_Coder`."""
        return self._rewriter.finish()


class _Compressed:
    """A page that is compressed, and is so again."""

    def __init__(self, rewriter: LinkRewriter, bits: int) -> None:
        """`bits` are zlib's, which tell the format."""
        self._rewriter = rewriter
        self._bits = bits
        self._reader = zlib.decompressobj(bits)
        self._writer = zlib.compressobj(wbits=bits)
        self._over = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """See `_Coder`. Raises zlib.error."""
        while data and self._goes_on(data):
            page = self._reader.decompress(data, _PIECE)
            data = self._reader.unused_data or self._reader.unconsumed_tail
            yield self._writer.compress(self._rewriter.feed(page))

    def _goes_on(self, data: bytes) -> bool:
        """Whether the next bytes are of the page. Behind its end gzip may begin anew; whatever else is there is not."""
        if self._reader.eof and not self._over:
            if self._bits == _GZIP and data[0] == _GZIP_BEGINS:
                self._reader = zlib.decompressobj(self._bits)
            else:
                self._over = True
        return not self._over

    def finish(self) -> bytes:
        """See `_Coder`."""
        return self._writer.compress(self._rewriter.finish()) + self._writer.flush()


class _Rewritten:
    """Implements `endpoints.response.Stream`."""

    def __init__(self, stream: Stream, coder: _Coder) -> None:
        self._stream = stream
        self._coder = coder
        self._pieces = self._made()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._pieces

    async def _made(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._stream:
                async for made in in_turns(self._coder.feed(piece)):
                    yield made
        except zlib.error as problem:
            raise AnswerBroken(f"a page that cannot be decompressed: {problem}") from problem
        yield self._coder.finish()

    async def aclose(self) -> None:
        """See `Stream`."""
        await self._stream.aclose()


def rewritten(stream: Stream, encoding: bytes, links: Links) -> Stream:
    """A page whose links lead through a proxy; as it is if nobody knows how it is encoded."""
    rewriter = LinkRewriter(links.moved)
    match encoding:
        case b"":
            return _Rewritten(stream, _Plain(rewriter))
        case b"gzip":
            return _Rewritten(stream, _Compressed(rewriter, _GZIP))
        case b"deflate":
            return _Rewritten(stream, _Compressed(rewriter, -15))
    return stream

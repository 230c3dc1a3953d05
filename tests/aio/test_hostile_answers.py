"""What servers may answer, and may not: what Go 1.26's client takes, and what it says of the rest."""

from __future__ import annotations

import asyncio

import pytest
from tests.aio.http_users import MAX_BODY, OK, POSTERS, USERS, Act, Got, Kind, Script, User, breathe, with_script

ANYBODY = pytest.mark.parametrize("kind", USERS)

H = b"HTTP/1.1 200 OK\r\n"
CHUNKED = H + b"Transfer-Encoding: chunked\r\n\r\n"
RESET = "read: connection reset by peer"
BROKEN = "net/http: HTTP/1.x transport connection broken: "
TOO_LARGE = f"{BROKEN}net/http: server response headers exceeded 1048576 bytes; aborted"
WHOLE = {
    "length": H + b"Date: today\r\nContent-Length: 5\r\n\r\nabcde",
    "chunked": CHUNKED + b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    "trailers": CHUNKED + b"5\r\nabcde\r\n0\r\nA: b\r\nC: d\r\n\r\n",
    "interim": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 E\r\nA: b\r\n\r\n" + H + b"Content-Length: 5\r\n\r\nabcde",
    "bare": b"HTTP/1.1 200 OK\nContent-Length: 5\n\nabcde",
}


@ANYBODY
@pytest.mark.parametrize(
    ("answer", "status", "body", "reused"),
    [
        (b"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", 200, b"", True),
        (b"HTTP/1.1  200 OK\r\nContent-Length: 0\r\n\r\n", 200, b"", True),
        (b"HTTP/1.1 999 \r\nContent-Length: 0\r\n\r\n", 999, b"", True),
        (b"HTTP/1.2 200 OK\r\nContent-Length: 1\r\n\r\na", 200, b"a", True),
        (b"HTTP/2.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, b"a", True),
        (b"HTTP/0.9 200 OK\r\nContent-Length: 1\r\n\r\na", 200, b"a", False),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, b"a", False),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\na", 200, b"a", True),
        (b"HTTP/1.0 200 OK\r\nTransfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\na", 200, b"a", False),
        (H + b"Connection: close\r\nContent-Length: 1\r\n\r\na", 200, b"a", False),
        (H + b"Connection: x, Close\r\nContent-Length: 1\r\n\r\na", 200, b"a", False),
        (H + b"Connection: x\r\nConnection: close\r\nContent-Length: 1\r\n\r\na", 200, b"a", False),
        (H + b"Connection: notclose\r\nContent-Length: 1\r\n\r\na", 200, b"a", True),
        (H + b"A: b\r\n c\r\n\t d\r\nContent-Length:\r\n 1\r\n\r\na", 200, b"a", True),
        (H + b"A: b\r\n \r\nContent-Length: 1\r\n\r\na", 200, b"a", True),
        (H + b"Transfer-Encoding:\r\n\tchunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 200, b"a", True),
        (H + b"A: \xff\r\nContent-Length: 1\r\n\r\na", 200, b"a", True),
        (H + b"A : b\r\nA b: c\r\nContent-Length: 1\r\n\r\na", 200, b"a", True),
        (H + b"Content-Length : 9\r\nContent-Length: 1\r\n\r\na", 200, b"a", True),
        (H + b"Transfer-Encoding : gzip\r\nContent-Length: 1\r\n\r\na", 200, b"a", True),
        (H + b"Content-Length: 1\r\nContent-Length:  1 \r\n\r\na", 200, b"a", True),
        (H + b"Content-Length: " + b"0" * 5000 + b"1\r\n\r\na", 200, b"a", True),
        (H + b"Content-Length: 1\r\n\r\nabc", 200, b"a", False),
        (H + b"Content-Length: 1\r\n\r\na" + OK.replace(b"200", b"403"), 200, b"a", False),
        (H + b"Content-Length: 1\r\n\r\na\r\n", 200, b"a", False),
        (H + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 200, b"a", True),
        (H + b"Transfer-Encoding: ChunKed\r\n\r\n1\r\na\r\n0\r\n\r\n", 200, b"a", True),
        (H + b"Trailer: A\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", 200, b"a", True),
        (b"HTTP/1.1 204 N\r\n\r\n", 204, b"", True),
        (b"HTTP/1.1 204 N\r\nContent-Length: 3\r\n\r\n", 204, b"", True),
        (b"HTTP/1.1 204 N\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 204, b"", False),
        (b"HTTP/1.1 304 N\r\nContent-Length: 3\r\n\r\n", 304, b"", True),
        (b"HTTP/1.1 101 S\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n", 101, b"", False),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 50 + H + b"Content-Length: 1\r\n\r\na", 200, b"a", True),
        (CHUNKED + b"3;x=y\r\nabc\r\n2;;\r\nde\r\n0;z\r\n\r\n", 200, b"abcde", True),
        (CHUNKED + b"3 \t\r\nabc\r\n0\r\n\r\n", 200, b"abc", True),
        (CHUNKED + b"0000000000000001\r\na\r\n0\r\n\r\n", 200, b"a", True),
        (CHUNKED + b"1;" + b"x" * 4092 + b"\r\na\r\n0\r\n\r\n", 200, b"a", True),
        (CHUNKED + b"1\r\na\r\n" * 40000 + b"0\r\n\r\n", 200, b"a" * 40000, True),
        (CHUNKED + b"1\r\na\r\n0\r\nT: 1\r\n U\r\n\r\n", 200, b"a", True),
        (CHUNKED + b"1\r\na\r\n0\r\n\r\nxx", 200, b"a", False),
        (CHUNKED + b"0\r\n\r\n", 200, b"", True),
        (H + b"A: " + b"b" * 200_000 + b"\r\nContent-Length: 1\r\n\r\na", 200, b"a", True),
    ],
)
def test_an_answer_ends_where_it_says_and_nothing_behind_it_is_the_next(
    kind: Kind, answer: bytes, status: int, body: bytes, *, reused: bool
) -> None:
    async def use(script: Script, user: User) -> None:
        assert await user.ask() == Got(status, body, "")
        assert await user.ask() == Got(200, b"{}", "")
        assert (script.connections, script.requests) == (1 if reused else 2, 2)

    with_script([Act([answer])], kind, use)


@ANYBODY
@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (H + b"\r\nabc", b"abc"),
        (H + b"\r\n", b""),
        (b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n", b"1\r\na\r\n0\r\n\r\n"),
    ],
)
def test_an_answer_without_an_end_of_its_own_ends_with_the_connection(kind: Kind, answer: bytes, body: bytes) -> None:
    async def use(script: Script, user: User) -> None:
        assert await user.ask() == Got(200, body, "")
        assert await user.ask() == Got(200, b"{}", "")
        assert script.connections == 2
        assert (await user.ask()).error == RESET

    with_script([Act([answer], "close"), Act([OK], "close"), Act([answer], "reset")], kind, use)


@ANYBODY
@pytest.mark.parametrize("name", WHOLE)
def test_answers_may_come_byte_by_byte_and_be_split_anywhere(kind: Kind, name: str) -> None:
    answer = WHOLE[name]
    acts = [Act([answer[:at], answer[at:]]) for at in range(1, len(answer))]
    acts.append(Act([answer[at : at + 1] for at in range(len(answer))]))

    async def use(script: Script, user: User) -> None:
        for _ in range(len(answer)):
            assert await user.ask() == Got(200, b"abcde", "")
        assert (script.connections, script.requests) == (1, len(answer))

    with_script(acts, kind, use)


@ANYBODY
@pytest.mark.parametrize("then", ["close", "reset"])
@pytest.mark.parametrize("name", WHOLE)
def test_an_answer_that_breaks_off_is_never_taken_for_a_whole_one(kind: Kind, name: str, then: str) -> None:
    answer = WHOLE[name]
    why = {"close": ("unexpected EOF", "http: unexpected EOF reading trailer"), "reset": (RESET,)}[then]

    async def use(script: Script, user: User) -> None:
        for at in range(1, len(answer)):
            got = await user.ask()
            assert got.error.removeprefix(BROKEN) in why, answer[:at]
        assert script.requests == script.connections == len(answer) - 1

    with_script([Act([answer[:at]], then) for at in range(1, len(answer))], kind, use)


@ANYBODY
@pytest.mark.parametrize("then", ["close", "reset"])
def test_a_request_is_sent_again_only_where_nothing_of_an_answer_came(kind: Kind, then: str) -> None:
    async def use(script: Script, user: User) -> None:
        assert (await user.ask()).error == {"close": "EOF", "reset": RESET}[then]
        assert script.requests == 1, "nobody knows what a fresh connection that closes has done"
        for at in range(len(OK)):
            script.acts = [Act([OK]), Act([OK[:at]] if at else [], then)]
            before = script.requests
            assert (await user.ask()).status == 200
            got = await user.ask()
            assert (got.status == 200, script.requests - before) == ((True, 3) if at == 0 else (False, 2)), OK[:at]
            script.acts = [Act([OK], "close")]
            await user.ask()

    with_script([Act([], then)], kind, use)


@ANYBODY
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"\r\n" + OK, 'malformed HTTP response ""'),
        (b"nonsense\r\n", 'malformed HTTP response "nonsense"'),
        (b"SSH-2.0-x\r\n", 'malformed HTTP response "SSH-2.0-x"'),
        (b'n"\x01\xff\xc3\xa9\\\r\n', 'malformed HTTP response "n\\"\\x01\\xff\u00e9\\\\"'),
        (b"HTTP/1.1 20 OK\r\n", 'malformed HTTP status code "20"'),
        (b"HTTP/1.1 2000 OK\r\n", 'malformed HTTP status code "2000"'),
        (b"HTTP/1.1 2x0 OK\r\n", 'malformed HTTP status code "2x0"'),
        (b"HTTP/1.1 +20 OK\r\n", 'malformed HTTP status code "+20"'),
        (b"HTTP/1.1 099 OK\r\n", 'malformed HTTP status code "099"'),
        (b"HTTP/1.1\t200 OK\r\n", 'malformed HTTP status code "OK"'),
        (b"HTTP/1.10 200 OK\r\n", 'malformed HTTP version "HTTP/1.10"'),
        (b"http/1.1 200 OK\r\n", 'malformed HTTP version "http/1.1"'),
        (H + b" A: b\r\n\r\n", 'malformed MIME header initial line: " A: b"'),
        (H + b"no colon\r\n\r\n", 'malformed MIME header: missing colon: "no colon"'),
        (H + b"A\r\n : b\r\n\r\n", 'malformed MIME header: missing colon: "A"'),
        (H + b"A: b\rc\r\nno colon\r\n\r\n", 'malformed MIME header line: "A: b\\rc"'),
        (H + b"A: b\r \n c\r\n\r\n", 'malformed MIME header line: "A: b\\r c"'),
        (H + b"A\t: b\r\n\r\n", 'malformed MIME header line: "A\\t: b"'),
        (H + b": b\r\n\r\n", 'malformed MIME header line: ": b"'),
        (H + b"\xe9: 1\r\n\r\n", 'malformed MIME header line: "\\xe9: 1"'),
        (H + b"\xe9A: 1\r\n\r\n", 'malformed MIME header line: "\\xe9A: 1"'),
        (H + b"A: b\rc\r\n\r\n", 'malformed MIME header line: "A: b\\rc"'),
        (H + b"A: b\0c\r\n\r\n", 'malformed MIME header line: "A: b\\x00c"'),
        (H + b"A: b\x7fc\r\n\r\n", 'malformed MIME header line: "A: b\\x7fc"'),
        (H + b"Content-Length: -1\r\n\r\na", 'bad Content-Length "-1"'),
        (H + b"Content-Length: +1\r\n\r\na", 'bad Content-Length "+1"'),
        (H + b"Content-Length: 1_0\r\n\r\na", 'bad Content-Length "1_0"'),
        (H + b"Content-Length: 0x1\r\n\r\na", 'bad Content-Length "0x1"'),
        (H + b"Content-Length: 1, 1\r\n\r\na", 'bad Content-Length "1, 1"'),
        (H + b"Content-Length: \xb2\r\n\r\na", 'bad Content-Length "\\xb2"'),
        (H + b"Content-Length:\r\n\r\na", 'invalid empty Content-Length ""'),
        (H + b"Content-Length: 9223372036854775808\r\n\r\na", 'bad Content-Length "9223372036854775808"'),
        (H + b"Content-Length: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 'bad Content-Length "x"'),
        (
            H + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            'http: message cannot contain multiple Content-Length headers; got ["1" "2"]',
        ),
        (H + b"Transfer-Encoding: gzip\r\n\r\n", 'unsupported transfer encoding: "gzip"'),
        (H + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 'unsupported transfer encoding: "gzip, chunked"'),
        (H + b"Transfer-Encoding: chunked, identity\r\n\r\n", 'unsupported transfer encoding: "chunked, identity"'),
        (H + b"Transfer-Encoding:\r\n\r\n", 'unsupported transfer encoding: ""'),
        (
            H + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            'too many transfer encodings: ["chunked" "chunked"]',
        ),
        (b"HTTP/1.1 204 N\r\nTransfer-Encoding: x\r\n\r\n", 'unsupported transfer encoding: "x"'),
        (b"HTTP/1.1 100 C\r\nTransfer-Encoding: x\r\n\r\n" + OK, 'unsupported transfer encoding: "x"'),
        (
            H + b"Trailer: A, Content-Length\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            'bad trailer key "Content-Length"',
        ),
        (H + b"A: b\r\n" * 200_000, TOO_LARGE.removeprefix(BROKEN)),
        (H + b"A: " + b"b" * 1_100_000, TOO_LARGE.removeprefix(BROKEN)),
        (b"H" * 1_100_000, TOO_LARGE.removeprefix(BROKEN)),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000, TOO_LARGE.removeprefix(BROKEN)),
    ],
)
def test_what_is_no_head_is_refused_at_once_and_never_asked_again(kind: Kind, answer: bytes, why: str) -> None:
    async def use(script: Script, user: User) -> None:
        assert await user.ask() == Got(0, b"", BROKEN + why)
        assert script.requests == 1
        assert await user.ask() == Got(200, b"{}", "")
        assert script.connections == 2

    with_script([Act([answer])], kind, use)


@ANYBODY
@pytest.mark.parametrize(
    ("chunks", "why"),
    [
        (b"zz\r\nabc", "invalid byte in chunk length"),
        (b"-1\r\nabc", "invalid byte in chunk length"),
        (b"0x1\r\na\r\n0\r\n\r\n", "invalid byte in chunk length"),
        (b"1_0\r\n", "invalid byte in chunk length"),
        (b" 3\r\nabc\r\n", "invalid byte in chunk length"),
        (b"3 ;x\r\nabc\r\n", "invalid byte in chunk length"),
        (b"\xb2\r\nab\r\n", "invalid byte in chunk length"),
        (b"\r\nabc", "empty hex number for chunk length"),
        (b";x\r\nabc", "empty hex number for chunk length"),
        (b"00000000000000001\r\na\r\n", "http chunk length too large"),
        (b"f" * 3000 + b"\r\na\r\n", "http chunk length too large"),
        (b"3\nabc\n0\n\n", "chunked line ends with bare LF"),
        (b"3\r;\r\nabc\r\n", "invalid CR in chunked line"),
        (b"1;" + b"x" * 4093 + b"\r\na\r\n", "header line too long"),
        (b"1;" + b"x" * 5000, "header line too long"),
        ((b"1;" + b"x" * 1000 + b"\r\na\r\n") * 40, "chunked encoding contains too much non-data"),
        (b"1\r\nabc", "malformed chunked encoding"),
        (b"1\r\na\n0\r\n\r\n", "malformed chunked encoding"),
        (b"0\r\nno colon\r\n\r\n", 'malformed MIME header: missing colon: "no colon"'),
        (b"0\r\nA: b\n\r\n", "http: suspiciously long trailer after chunked body"),
        (b"0\r\nT: " + b"x" * 5000, "http: suspiciously long trailer after chunked body"),
        (b"0\r\n" + b"T: x\r\n" * 5000, "http: suspiciously long trailer after chunked body"),
    ],
)
def test_what_is_no_chunk_is_refused_at_once(kind: Kind, chunks: bytes, why: str) -> None:
    async def use(script: Script, user: User) -> None:
        assert await user.ask() == Got(0, b"", why)
        assert script.requests == 1
        assert await user.ask() == Got(200, b"{}", "")
        assert script.connections == 2

    with_script([Act([CHUNKED + chunks])], kind, use)


@pytest.mark.parametrize("kind", POSTERS)
@pytest.mark.parametrize(
    "answer",
    [
        CHUNKED + b"1\r\na\r\n%x\r\n" % MAX_BODY + b"b" * MAX_BODY,
        CHUNKED + b"100\r\n" + b"a" * 256 + b"\r\n" + b"ffffffffffffffff\r\n" + b"b" * MAX_BODY,
        H + b"\r\n" + b"a" * (MAX_BODY + 1),
        H + b"Content-Length: %d\r\n\r\n" % (MAX_BODY + 200_000) + b"a" * (MAX_BODY + 200_000),
        H + b"Content-Length: 9223372036854775807\r\n\r\n" + b"a" * (MAX_BODY + 1),
    ],
)
def test_nobody_reads_more_than_is_allowed(kind: Kind, answer: bytes) -> None:
    async def use(script: Script, user: User) -> None:
        assert await user.ask() == Got(0, b"", f"the answer has more than {MAX_BODY} bytes")
        assert await user.ask() == Got(200, b"{}", "")
        assert script.connections == 2

    with_script([Act([answer])], kind, use)


@ANYBODY
def test_what_comes_on_an_idle_connection_is_no_answer(kind: Kind) -> None:
    async def use(script: Script, user: User) -> None:
        assert await user.ask() == Got(200, b"{}", "")
        await breathe()
        await breathe()
        assert await user.ask() == Got(200, b"{}", "")
        assert (script.connections, script.requests) == (2, 2)

    with_script([Act([OK, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"])], kind, use)


@pytest.mark.parametrize("kind", POSTERS)
@pytest.mark.parametrize("then", ["keep", "close", "reset"])
def test_an_answer_may_come_before_the_request_was_sent_whole(kind: Kind, then: str) -> None:
    async def use(script: Script, user: User) -> None:
        refusal = Got(413, b"", "")
        assert await user.ask(b"x" * 20_000_000) == refusal
        assert script.requests == 1
        assert await user.ask() == Got(200, b"{}", "")
        assert script.connections == 2, "what is left of the request would be the next one"

    refused = b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"
    with_script([Act([refused], then, reads_body=False)], kind, use)


@ANYBODY
@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", CHUNKED + b"5\r\nab"])
def test_a_request_that_is_given_up_leaves_no_connection(kind: Kind, begun: bytes) -> None:
    async def use(script: Script, user: User) -> None:
        await user.ask()
        asking = asyncio.create_task(user.ask(), name="asking")
        while script.requests < 2:
            await asyncio.sleep(0)
        await breathe()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(script.ended.wait(), 5)
        assert await user.ask() == Got(200, b"{}", "")
        assert script.connections == 2

    with_script([Act([OK]), Act([begun])], kind, use)

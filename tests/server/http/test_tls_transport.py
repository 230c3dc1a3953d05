"""TLS on sockets: whole answers, slow clients, goodbyes, and clients that do not play along."""

import asyncio
import errno
import os
import random
import socket
import ssl
from contextlib import asynccontextmanager

import pytest
from tests.waiting import until
from wire_client import PATIENCE, WireClient

from watchkeeper.server.http.limits import HttpLimits
from watchkeeper.server.http.listener import Listener, bind_tcp
from watchkeeper.server.http.tls_acceptor import TlsAcceptor
from watchkeeper.server.http.tls_transport import RECORD, TlsTransport
from watchkeeper.server.pki import serving_certificate
from watchkeeper.server.tls import server_context

HEADERS = [(b"content-type", b"application/json")]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return serving_certificate(tmp_path_factory.mktemp("pki"), "127.0.0.1")


@pytest.fixture(scope="module")
def context(certificate):
    return server_context(certificate.cert, certificate.key)


def client_context():
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    found.check_hostname = False
    found.verify_mode = ssl.CERT_NONE
    # Some versions of Python take any end for an orderly one unless they are told not to.
    found.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    return found


@asynccontextmanager
async def serving(app, context, **limits):
    listener = Listener(app, ssl_context=context, limits=HttpLimits(**limits))
    [sock] = bind_tcp("127.0.0.1", 0)
    port = sock.getsockname()[1]
    await listener.listen(sock)
    try:
        yield listener, port
    finally:
        await listener.stop(0.2)


@asynccontextmanager
async def connected(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context())
    try:
        yield WireClient(reader, writer)
    finally:
        writer.close()


class Recorder(asyncio.Protocol):
    """What a transport tells its protocol."""

    def __init__(self):
        self.transport = None
        self.received = b""
        self.paused = []
        self.lost = []

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.received += data

    def pause_writing(self):
        self.paused.append(True)

    def resume_writing(self):
        self.paused.append(False)

    def connection_lost(self, exc):
        self.lost.append(exc)


@asynccontextmanager
async def accepting(context, **seconds):
    """(acceptor, made protocols, port)"""
    made = []

    def make():
        made.append(Recorder())
        return made[-1]

    [sock] = bind_tcp("127.0.0.1", 0)
    port = sock.getsockname()[1]
    acceptor = TlsAcceptor(sock, context, asyncio.get_running_loop(), make, **seconds)
    try:
        yield acceptor, made, port
    finally:
        acceptor.close()
        for protocol in made:
            protocol.transport.abort()
        await asyncio.sleep(0)


@asynccontextmanager
async def raw_client(port, made):
    """A TLS client in a thread's blocking socket that tells an orderly end from a broken one, and its server side."""

    def connect():
        sock = socket.create_connection(("127.0.0.1", port), PATIENCE)
        return client_context().wrap_socket(sock, suppress_ragged_eofs=False)

    known = len(made)
    client = await asyncio.to_thread(connect)
    await until(lambda: len(made) > known and made[-1].transport is not None)
    try:
        yield client, made[-1]
    finally:
        client.close()


def read_all(client, size):
    found = bytearray()
    while len(found) < size:
        piece = client.recv(1 << 16)
        if not piece:
            break
        found += piece
    return bytes(found)


def test_requests_are_answered_one_after_another_on_a_connection(context):
    async def app(scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        await send({"type": "http.response.body", "body": scope["scheme"].encode() + b":" + body})

    async def run():
        async with serving(app, context) as (_, port), connected(port) as client:
            answers = []
            for body in (b"", b"x" * 100_000, b"y"):
                await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                answers.append((await client.answer())[2])
            return answers

    answers = asyncio.run(run())
    assert answers == [b"https:", b"https:" + b"x" * 100_000, b"https:y"]


def test_a_slow_reader_of_a_long_answer_gets_all_of_it_and_the_server_keeps_little(context):
    pieces = [os.urandom(300_000) for _ in range(40)]
    sent = 0

    async def app(scope, receive, send):
        nonlocal sent
        await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
        for piece in pieces:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            sent += 1
        await send({"type": "http.response.body", "body": b""})

    async def run():
        async with serving(app, context, write_buffer=1 << 18) as (listener, port):
            sock = socket.create_connection(("127.0.0.1", port))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            reader, writer = await asyncio.open_connection(sock=sock, ssl=client_context(), server_hostname="x")
            client = WireClient(reader, writer)
            await client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            await client.head()
            await until(lambda: listener.connections and next(iter(listener.connections)).write_paused)
            before = sent
            body = b"".join([chunk async for chunk in client.chunks()])
            writer.close()
            return before, body

    before, body = asyncio.run(run())
    assert before < len(pieces)
    assert body == b"".join(pieces)


def test_pieces_are_joined_to_full_records_and_nothing_is_lost_or_moved(context):
    dice = random.Random(4)
    lines = [
        [os.urandom(dice.choice([1, 5, 100, RECORD - 1, RECORD, RECORD + 1, 70_000, 250_000])) for _ in range(5)]
        for _ in range(12)
    ]

    async def run():
        async with accepting(context) as (_, made, port), raw_client(port, made) as (client, protocol):
            expected = b"".join(b"".join(line) for line in lines)
            reading = asyncio.create_task(asyncio.to_thread(read_all, client, len(expected)))
            for line in lines:
                protocol.transport.writelines(line)
            return await reading, expected

    found, expected = asyncio.run(run())
    assert found == expected


@pytest.mark.skipif(not hasattr(socket, "TCP_CORK"), reason="this system sends packets as it likes")
@pytest.mark.parametrize("size", [100_000, 8 << 20])
def test_what_is_sent_in_whole_packets_does_not_wait_for_more(context, size):
    """The kernel fills packets while a long piece is written, and sends the last of it when that is done."""
    piece = os.urandom(size)

    def corked(protocol):
        return protocol.transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_CORK)

    async def run():
        async with accepting(context) as (_, made, port), raw_client(port, made) as (client, protocol):
            protocol.transport.writelines([b"a", piece, b"b"])
            waited = protocol.transport.get_write_buffer_size()
            during = corked(protocol)
            found = await asyncio.to_thread(read_all, client, size + 2)
            await until(lambda: not protocol.transport.get_write_buffer_size())
            return found, waited, during, corked(protocol)

    found, waited, during, after = asyncio.run(run())
    assert found == b"a" + piece + b"b"
    assert during == (1 if waited else 0)
    assert bool(waited) is (size > 4 << 20)
    assert after == 0


def test_a_protocol_pauses_when_much_waits_and_goes_on_when_little_does(context):
    async def run():
        async with accepting(context) as (_, made, port), raw_client(port, made) as (client, protocol):
            protocol.transport.set_write_buffer_limits(high=1 << 20)
            data = os.urandom(1 << 20)
            total = 0
            while not protocol.paused:
                protocol.transport.write(data)
                total += len(data)
            waiting = protocol.transport.get_write_buffer_size()
            assert protocol.paused == [True]
            await asyncio.to_thread(read_all, client, total)
            await until(lambda: len(protocol.paused) == 2)
            return waiting, protocol.paused, protocol.transport.get_write_buffer_size()

    waiting, paused, left = asyncio.run(run())
    assert waiting > 1 << 20
    assert paused == [True, False]
    assert left == 0


def test_reading_pauses_and_goes_on(context):
    async def run():
        async with accepting(context) as (_, made, port), raw_client(port, made) as (client, protocol):
            protocol.transport.pause_reading()
            assert not protocol.transport.is_reading()
            await asyncio.to_thread(client.sendall, b"x" * 50_000)
            await asyncio.sleep(0.05)
            while_paused = protocol.received
            protocol.transport.resume_reading()
            await until(lambda: len(protocol.received) == 50_000)
            return while_paused

    assert asyncio.run(run()) == b""


def test_closing_sends_what_waits_and_says_goodbye(context):
    async def run():
        async with accepting(context) as (_, made, port), raw_client(port, made) as (client, protocol):
            data = os.urandom(8 << 20)
            protocol.transport.write(data)
            protocol.transport.close()
            protocol.transport.write(b"too late")
            # Nothing that the client still sends keeps it from getting the end.
            await asyncio.to_thread(client.sendall, b"never read")
            found = await asyncio.to_thread(read_all, client, len(data) + 1)
            assert client.recv(10) == b""  # an orderly end; a broken one would raise
            client.close()
            await until(lambda: protocol.lost)
            return found == data, protocol.lost, protocol.received

    assert asyncio.run(run()) == (True, [None], b"")


def test_aborting_lets_the_client_see_that_something_is_missing(context):
    async def run():
        async with accepting(context) as (_, made, port), raw_client(port, made) as (client, protocol):
            protocol.transport.write(b"half")
            protocol.transport.abort()
            await until(lambda: protocol.lost)
            assert await asyncio.to_thread(read_all, client, 4) == b"half"
            with pytest.raises((ssl.SSLError, ConnectionResetError)):
                await asyncio.to_thread(client.recv, 10)
            return protocol.lost, protocol.transport.is_closing()

    assert asyncio.run(run()) == ([None], True)


def test_a_client_that_says_goodbye_is_answered_and_forgotten(context):
    async def run():
        async with accepting(context) as (_, made, port), raw_client(port, made) as (client, protocol):
            plain = await asyncio.to_thread(client.unwrap)
            plain.close()
            await until(lambda: protocol.lost)
            return protocol.lost

    assert asyncio.run(run()) == [None]


def test_a_client_that_vanishes_is_noticed(context):
    async def run():
        async with accepting(context) as (_, made, port), raw_client(port, made) as (client, protocol):
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            socket.socket.close(client)
            await until(lambda: protocol.lost)
            protocol.transport.write(b"into the void")
            return len(protocol.lost)

    assert asyncio.run(run()) == 1


def test_a_client_that_never_says_goodbye_is_cut_off(context):
    async def run():
        async with (
            accepting(context, shutdown_seconds=0.1) as (_, made, port),
            raw_client(port, made) as (_client, protocol),
        ):
            protocol.transport.close()
            await until(lambda: protocol.lost)
            return protocol.lost

    assert asyncio.run(run()) == [None]


def test_a_client_that_takes_nothing_does_not_hold_up_the_end(context):
    async def run():
        async with (
            accepting(context, shutdown_seconds=0.1) as (_, made, port),
            raw_client(port, made) as (_client, protocol),
        ):
            protocol.transport.write(os.urandom(32 << 20))
            protocol.transport.close()
            await until(lambda: protocol.lost)
            return protocol.transport.get_write_buffer_size()

    assert asyncio.run(run()) == 0


@pytest.mark.parametrize("greeting", [b"", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01"])
def test_who_does_not_shake_hands_is_cut_off(context, greeting):
    async def run():
        async with accepting(context, handshake_seconds=0.1) as (acceptor, made, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(greeting)
            try:
                await asyncio.wait_for(reader.read(), PATIENCE)
            except ConnectionResetError:
                pass
            writer.close()
            return made, repr(acceptor)

    assert asyncio.run(run()) == ([], "<TlsAcceptor open, 0 shaking hands>")


def test_a_server_that_stops_ends_handshakes_and_refuses_new_clients(context):
    async def run():
        async with serving(Recorder, context) as (listener, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.sleep(0.05)
            await listener.stop(0.1)
            ended = await asyncio.wait_for(reader.read(), PATIENCE)
            writer.close()
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", port)
            return ended

    assert asyncio.run(run()) == b""


def test_a_protocol_that_fails_loses_its_connection_and_nobody_elses(context):
    async def run():
        told = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["exception"]))
        async with accepting(context) as (_, made, port), raw_client(port, made) as (_other, other):
            async with raw_client(port, made) as (client, protocol):
                protocol.data_received = lambda data: 1 / 0
                await asyncio.to_thread(client.sendall, b"x")
                await until(lambda: protocol.lost)
            return [type(error) for error in told], list(other.lost)

    assert asyncio.run(run()) == ([ZeroDivisionError], [])


class Exhausted:
    """A listening socket of a process that has no file descriptors left, for the first client."""

    def __init__(self, sock):
        self._sock = sock
        self.failures = [OSError(errno.EMFILE, os.strerror(errno.EMFILE))]

    def accept(self):
        if self.failures:
            raise self.failures.pop()
        return self._sock.accept()

    def fileno(self):
        return self._sock.fileno()

    def close(self):
        self._sock.close()


def test_without_file_descriptors_accepting_pauses_and_goes_on(context, monkeypatch):
    monkeypatch.setattr("watchkeeper.server.http.tls_acceptor._PAUSE_SECONDS", 0.05)

    async def run():
        [sock] = bind_tcp("127.0.0.1", 0)
        port = sock.getsockname()[1]
        made = []

        def make():
            made.append(Recorder())
            return made[-1]

        exhausted = Exhausted(sock)
        acceptor = TlsAcceptor(exhausted, context, asyncio.get_running_loop(), make)
        async with raw_client(port, made):
            acceptor.close()
            made[0].transport.abort()
            return exhausted.failures, len(made)

    assert asyncio.run(run()) == ([], 1)


def test_a_transport_tells_of_its_ends(context):
    async def run():
        async with accepting(context) as (_, made, port), raw_client(port, made) as (client, protocol):
            transport = protocol.transport
            assert isinstance(transport, TlsTransport)
            ends = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
            assert transport.get_extra_info("ssl_object").version() == "TLSv1.3"
            return ends == (client.getsockname(), client.getpeername()), transport.get_extra_info("unknown", 7)

    assert asyncio.run(run()) == (True, 7)


def test_silent_clients_are_asked_whether_they_are_there(context):
    async def run():
        async with serving(Recorder, context) as (listener, port), connected(port):
            await until(lambda: listener.connections)
            [connection] = listener.connections
            sock = connection._transport.get_extra_info("socket")
            return [
                sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE),
                sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE),
                sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY),
            ]

    assert asyncio.run(run()) == [1, 15, 1]


def test_a_client_that_takes_nothing_is_cut_off(context, monkeypatch):
    monkeypatch.setattr("watchkeeper.server.http.listener._SWEEP_SECONDS", 0.05)
    ended = []

    async def endless(scope, receive, send):
        try:
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            while True:
                await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
        finally:
            ended.append(scope["path"])

    def ask(port):
        sock = client_context().wrap_socket(socket.create_connection(("127.0.0.1", port)))
        sock.sendall(b"GET /stuck HTTP/1.1\r\nHost: x\r\n\r\n")
        return sock

    async def run():
        async with serving(endless, context, write_seconds=0.3) as (listener, port):
            client = await asyncio.to_thread(ask, port)
            await until(lambda: ended)
            client.close()
            return len(listener.connections)

    assert (asyncio.run(run()), ended) == (0, ["/stuck"])

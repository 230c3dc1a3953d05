"""exec, attach and port-forward: by SPDY, by WebSockets that are translated for kubelets, and by kubectl."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from behind import PODS, client, last, make_node, make_pod, told
from fake_kubelet import FakeKubelet, fake_kubelet
from tests.waiting import eventually
from wsproto import ConnectionType, WSConnection
from wsproto.events import (
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    Pong,
    RejectConnection,
    Request,
)

from watchkeeper.aio.spdy_frames import Data, FrameReader, FrameWriter, Replied, data
from watchkeeper.testing import Server
from watchkeeper.testing.etcd_certificates import make_certificates
from watchkeeper.testing.handle import Handle

BESIDE_PYTHON = Path(sys.executable).parent / "kubectl"
KUBECTL = str(BESIDE_PYTHON) if BESIDE_PYTHON.exists() else shutil.which("kubectl")
CHANNELS = "v5.channel.k8s.io"
TUNNEL = "SPDY/3.1+portforward.k8s.io"
GONE = "the kubelet was gone before it told what came of the command"
SUCCESS = {"metadata": {}, "status": "Success"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kubelet")
    make_certificates(folder)
    return folder


@pytest.fixture(scope="module")
def kubelet(folder: Path) -> Iterator[FakeKubelet]:
    with fake_kubelet(folder) as running:
        yield running


@pytest.fixture(scope="module")
def server(kubelet: FakeKubelet) -> Iterator[Handle]:
    with Server(controllers=()) as running:
        make_node(running, "old", "127.0.0.1", kubelet.port)
        make_node(running, "new", "127.0.0.1", kubelet.port, "ExtendWebSocketsToKubelet")
        make_pod(running, "p", "old", "c", "refused")
        make_pod(running, "q", "new")
        running.request("PATCH", f"{PODS}/p/status", {"status": {"phase": "Running"}})
        yield running


class Speaker:
    """A client with a WebSocket."""

    def __init__(self, server: Handle, path: str, *protocols: str) -> None:
        host, _, port = server.url.removeprefix("https://").partition(":")
        raw = socket.create_connection((host, int(port)), timeout=20)
        self.sock = server.ssl_context().wrap_socket(raw, server_hostname=host)
        self.spoken: str | None = None
        self.status = 0
        self.closed = 0
        self._protocol = WSConnection(ConnectionType.CLIENT)
        token = [(b"Authorization", f"Bearer {server.token}".encode())]
        self.say(Request(host=host, target=path, extra_headers=token, subprotocols=list(protocols)))
        self._events: list[Any] = []
        first = self.event()
        if isinstance(first, RejectConnection):
            self.status = first.status_code
        else:
            assert isinstance(first, AcceptConnection)
            self.spoken = first.subprotocol

    def __enter__(self) -> Speaker:
        return self

    def __exit__(self, *_: object) -> None:
        self.sock.close()

    def say(self, event: Any) -> None:
        self.sock.sendall(self._protocol.send(event))

    def send(self, message: bytes) -> None:
        self.say(BytesMessage(message))

    def event(self) -> Any:
        while not self._events:
            piece = self.sock.recv(65536)
            self._protocol.receive_data(piece or None)
            self._events.extend(self._protocol.events())
        return self._events.pop(0)

    def receive(self) -> bytes | None:
        """The next message, None at the end."""
        whole = b""
        while True:
            event = self.event()
            if isinstance(event, CloseConnection):
                self.closed = event.code
                return None
            assert isinstance(event, BytesMessage)
            whole += event.data
            if event.message_finished:
                return whole

    def channels(self) -> tuple[dict[int, bytes], Any]:
        """All that comes by channel, and the status at the end."""
        found: dict[int, bytes] = {}
        while (message := self.receive()) is not None:
            found[message[0]] = found.get(message[0], b"") + message[1:]
        return found, json.loads(found.pop(3))


def run(server: Handle, *command: str, query: str = "stdout=1&stderr=1", pod: str = "p") -> Speaker:
    asked = "&".join(f"command={each}" for each in command)
    return Speaker(server, f"{PODS}/{pod}/exec?container=c&{asked}&{query}", CHANNELS)


def test_a_command_runs_and_tells_how_it_ended(server: Handle, kubelet: FakeKubelet) -> None:
    with run(server, "echo", "a", "b") as speaker:
        assert speaker.spoken == CHANNELS
        assert speaker.receive() == b"\x01"
        assert speaker.channels() == ({1: b"a b", 2: b"aside"}, SUCCESS)
        assert speaker.closed == 1000
    asked = last(kubelet)
    assert asked.target == "/exec/default/p/c?command=echo&command=a&command=b&error=1&output=1"
    assert (asked.method, asked.header("upgrade"), asked.header("authorization")) == ("POST", "SPDY/3.1", "")


def test_a_code_is_told(server: Handle) -> None:
    with run(server, "exit", "3", query="") as speaker:
        assert speaker.receive() == b"\x03"
        _, status = speaker.channels()
    text = "command terminated with exit code 3"
    assert status == {
        "metadata": {},
        "status": "Failure",
        "message": f"command terminated with non-zero exit code: {text}",
        "reason": "NonZeroExitCode",
        "details": {"causes": [{"reason": "ExitCode", "message": "3"}]},
    }


def test_what_is_sent_goes_there_until_it_is_closed(server: Handle) -> None:
    with run(server, "cat", query="stdin=1&stdout=1") as speaker:
        assert speaker.receive() == b"\x01"
        for piece in (b"a" * 100_000, b"b"):
            speaker.send(b"\x00" + piece)
        speaker.say(BytesMessage(b"\x00c", message_finished=False))
        speaker.say(BytesMessage(b"d", message_finished=True))
        speaker.send(b"\xff\x00")
        assert speaker.channels() == ({1: b"a" * 100_000 + b"bcd"}, SUCCESS)


def test_sizes_of_terminals_go_there(server: Handle) -> None:
    with run(server, "cat", query="stdin=1&stdout=1&stderr=1&tty=1") as speaker:
        speaker.receive()
        speaker.send(b'\x04{"width": 80,"Hei')
        speaker.send(b'\x04ght":24}{"Width":1,"Height":2}')
        told = b""
        while not told.endswith(b"2}\n"):
            message = speaker.receive()
            assert message is not None
            told += message[1:]
        assert told == b'{"Width":80,"Height":24}\n{"Width":1,"Height":2}\n'
        speaker.send(b"\xff\x00")
        assert speaker.channels() == ({}, SUCCESS)


def test_much_comes_whole(server: Handle) -> None:
    with run(server, "large") as speaker:
        found, status = speaker.channels()
    assert (len(found[1]), status) == (256 * 32768, SUCCESS)


def test_a_client_that_asks_whether_somebody_is_there_is_answered(server: Handle) -> None:
    with run(server, "cat", query="stdin=1&stdout=1") as speaker:
        speaker.receive()
        speaker.say(Ping(b"x"))
        event = speaker.event()
        assert isinstance(event, Pong)
        assert event.payload == b"x"


@pytest.mark.parametrize("message", [b"\xff\x09", b"\xff\x00\x01", b"\xff"])
def test_a_client_that_closes_what_there_is_not_is_closed_on(server: Handle, message: bytes) -> None:
    with run(server, "cat", query="stdin=1&stdout=1") as speaker:
        assert speaker.receive() == b"\x01"
        speaker.send(message)
        assert speaker.receive() is None
        assert speaker.closed == 1000


def test_a_client_that_goes_ends_it(folder: Path) -> None:
    with fake_kubelet(folder) as kubelet, Server(controllers=()) as server:
        make_node(server, "n", "127.0.0.1", kubelet.port)
        make_pod(server, "p", "n")
        with run(server, "cat", query="stdin=1&stdout=1") as speaker:
            speaker.receive()
            eventually(lambda: len(kubelet.asked) == 1)
        eventually(lambda: kubelet.left == ["/exec/default/p/c"])


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("fail", "no such command"),
        ("vanish", f"{GONE}: unexpected EOF"),
        ("garbage", f"{GONE}: the other side does not speak SPDY: version 2 of the protocol"),
    ],
)
def test_what_goes_wrong_is_told_on_its_channel(server: Handle, command: str, why: str) -> None:
    with run(server, command) as speaker:
        _, status = speaker.channels()
    assert (status["code"], status["message"]) == (500, f"Internal error occurred: {why}")


def test_a_kubelet_that_refuses_is_quoted(server: Handle) -> None:
    with Speaker(server, f"{PODS}/p/exec?container=refused&command=x", CHANNELS) as speaker:
        _, status = speaker.channels()
    assert status["message"] == "Internal error occurred: unable to upgrade connection: not you"
    with client(server) as http:
        headers = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1"}
        answer = http.post(f"{PODS}/p/exec?container=refused&command=x", headers=headers)
    assert (answer.status_code, answer.text) == (403, "not you")


def test_a_kubelet_that_takes_websockets_gets_them(server: Handle, kubelet: FakeKubelet) -> None:
    with run(server, "x", pod="q") as speaker:
        assert speaker.spoken == CHANNELS
        speaker.send(b"\x00echoed")
        assert speaker.receive() == b"\x00echoed"
    assert (last(kubelet).method, last(kubelet).header("upgrade")) == ("GET", "websocket")
    with Speaker(server, f"{PODS}/q/portforward?ports=80", TUNNEL) as speaker:
        assert speaker.spoken == TUNNEL


def test_older_protocols_are_left_to_the_kubelet(server: Handle, kubelet: FakeKubelet) -> None:
    with Speaker(server, f"{PODS}/p/exec?container=c&command=x", "v4.channel.k8s.io") as speaker:
        assert speaker.spoken == "v4.channel.k8s.io"
    assert last(kubelet).header("upgrade") == "websocket"


def test_ports_are_forwarded_by_websockets_that_carry_spdy(server: Handle, kubelet: FakeKubelet) -> None:
    writer, reader = FrameWriter(), FrameReader()
    with Speaker(server, f"{PODS}/p/portforward?ports=80,81", TUNNEL) as speaker:
        assert speaker.spoken == TUNNEL
        speaker.send(writer.opened(1, {"streamtype": "data", "port": "80", "requestID": "0"}) + data(1, b"hello"))
        frames: list[Any] = []
        while len(frames) < 2:
            message = speaker.receive()
            assert message is not None
            frames += reader.feed(message)
        assert frames == [Replied(1, {}, False), Data(1, b"HELLO", False)]
    asked = last(kubelet)
    assert (asked.method, asked.target) == ("POST", "/portForward/default/p?port=80%2C81")
    assert asked.header("x-stream-protocol-version") == "portforward.k8s.io"
    assert not [name for name, _ in asked.headers if name.startswith("sec-websocket")]


def test_nothing_is_left_when_the_server_stops(folder: Path) -> None:
    with fake_kubelet(folder) as kubelet:
        with Server(controllers=()) as server:
            make_node(server, "n", "127.0.0.1", kubelet.port)
            make_pod(server, "p", "n")
            speakers = [run(server, "cat", query="stdin=1&stdout=1"), Speaker(server, f"{PODS}/p/portforward", TUNNEL)]
            eventually(lambda: len(kubelet.asked) == 2)
        eventually(lambda: sorted(kubelet.left) == ["/exec/default/p/c", "/portForward/default/p"])
    for speaker in speakers:
        speaker.sock.close()


def test_who_may_only_read_runs_nothing(server: Handle) -> None:
    with client(server) as http:
        upgrade = {"Connection": "Upgrade", "Upgrade": "SPDY/3.1", "Impersonate-User": "reader"}
        code, message = told(http.post(f"{PODS}/p/exec?container=c&command=x", headers=upgrade))
    assert (code, "cannot create resource" in message) == (403, True)


# -- kubectl ----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["true", "false"])
def kubectl(request: pytest.FixtureRequest, server: Handle) -> Any:
    """kubectl, by WebSockets or without."""
    if KUBECTL is None:
        pytest.skip("there is no kubectl")
    names = ("KUBECTL_REMOTE_COMMAND_WEBSOCKETS", "KUBECTL_PORT_FORWARD_WEBSOCKETS")
    environment = {"KUBECONFIG": str(server.kubeconfig), "PATH": "", "HOME": "/nonexistent"}
    environment |= dict.fromkeys(names, request.param)

    def start(*arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen([str(KUBECTL), *arguments], env=environment, **pipes, **options)

    return start


def test_kubectl_runs_commands(kubectl: Any) -> None:
    ran = kubectl("exec", "-i", "p", "-c", "c", "--", "cat")
    assert ran.communicate(b"x" * 1_000_000, timeout=30)[0] == b"x" * 1_000_000
    assert ran.returncode == 0
    failed = kubectl("exec", "p", "-c", "c", "--", "exit", "7")
    failed.communicate(timeout=30)
    assert failed.returncode == 7
    attached = kubectl("attach", "-i", "p", "-c", "c")
    assert attached.communicate(b"there\n", timeout=30)[0] == b"there\n"


def test_kubectl_copies_files(kubectl: Any, tmp_path: Path) -> None:
    if shutil.which("tar") is None:
        pytest.skip("there is no tar")
    for name in ("here", "there", "back"):
        (tmp_path / name).mkdir()
    content = bytes(range(256)) * 4096
    (tmp_path / "here" / "file").write_bytes(content)
    for source, target in (
        (f"{tmp_path}/here/file", f"p:{tmp_path}/there/file"),
        (f"p:{tmp_path}/there/file", f"{tmp_path}/back/file"),
    ):
        copying = kubectl("cp", "-c", "c", source, target)
        said = copying.communicate(timeout=30)
        assert copying.returncode == 0, said
    assert (tmp_path / "back" / "file").read_bytes() == content


def test_kubectl_forwards_ports(kubectl: Any) -> None:
    forwarding = kubectl("port-forward", "p", ":80", "--address", "127.0.0.1")
    try:
        line = forwarding.stdout.readline().decode()
        port = int(line.partition(" -> ")[0].rpartition(":")[2])
        for _ in range(2):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as sock:
                sock.sendall(b"hello")
                sock.shutdown(socket.SHUT_WR)
                assert sock.makefile("rb").read() == b"HELLO"
    finally:
        forwarding.kill()
        forwarding.communicate()


def test_kubectl_follows_logs(kubectl: Any) -> None:
    following = kubectl("logs", "-f", "p", "-c", "c")
    try:
        assert [following.stdout.readline() for _ in range(2)] == [b"line 0\n", b"line 1\n"]
    finally:
        following.kill()
        following.communicate()

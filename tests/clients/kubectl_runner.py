"""Runs the real kubectl against one server."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

KUBECTL = str(Path(sys.executable).parent / "kubectl")
_SECONDS = 60


class Kubectl:
    """Command lines go to one server and one namespace, and must neither fail nor complain unless that is asked for."""

    def __init__(self, kubeconfig: Path, home: Path, namespace: str = "") -> None:
        """`home` holds what kubectl keeps about the server, and its temporary files."""
        self._start = [KUBECTL]
        self.namespace = namespace
        self.home = home
        if namespace:
            kubeconfig = _with_namespace(kubeconfig, home / f"{namespace}.kubeconfig", namespace)
        names = {"KUBECONFIG": kubeconfig, "KUBECACHEDIR": home / "cache", "HOME": home, "TMPDIR": home}
        self.env = {**os.environ, **{name: str(value) for name, value in names.items()}}

    def run(self, line: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command line, whatever comes of it."""
        return subprocess.run(
            [*self._start, *shlex.split(line)],
            env={**self.env, **env},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )

    def __call__(self, line: str, stdin: str = "", **env: str) -> str:
        """What a command prints that succeeds and has nothing to complain about."""
        done = self.run(line, stdin, **env)
        assert (done.returncode, done.stderr) == (0, ""), f"kubectl {line}: {done.stderr or done.stdout}"
        return done.stdout

    def fails(self, line: str, stdin: str = "", **env: str) -> str:
        """What a command complains about that fails."""
        done = self.run(line, stdin, **env)
        assert done.returncode != 0, f"kubectl {line} did not fail: {done.stdout}"
        return done.stderr

    def warns(self, line: str, stdin: str = "", **env: str) -> tuple[str, str]:
        """What a command that succeeds prints, and what it complains about."""
        done = self.run(line, stdin, **env)
        assert done.returncode == 0, f"kubectl {line}: {done.stderr}"
        return done.stdout, done.stderr

    def as_bearer(self, token: str) -> Kubectl:
        """The same for whoever has this token, instead of the kubeconfig's user."""
        other = copy.copy(self)
        other._start = [*self._start, f"--token={token}"]
        return other

    @contextlib.contextmanager
    def running(self, line: str) -> Iterator[subprocess.Popen[str]]:
        """A command that goes on until it is ended here."""
        process = subprocess.Popen(
            [*self._start, *shlex.split(line)],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield process
        finally:
            process.terminate()
            process.wait(timeout=10)
            assert process.stdout is not None
            process.stdout.close()


def _with_namespace(kubeconfig: Path, copy_to: Path, namespace: str) -> Path:
    """A kubeconfig whose context is about a namespace."""
    config = json.loads(kubeconfig.read_text())
    for entry in config["contexts"]:
        entry["context"]["namespace"] = namespace
    copy_to.write_text(json.dumps(config))
    return copy_to


def rows(table: str) -> list[list[str]]:
    """The cells of a table, line by line, without its last column, which is mostly an age."""
    return [re.split(r"\s{2,}", line.rstrip())[:-1] for line in table.splitlines()]

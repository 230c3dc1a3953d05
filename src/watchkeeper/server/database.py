"""`watchkeeper db …`: looking after a SQLite database from outside."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

from watchkeeper.kv.errors import KVError
from watchkeeper.kv.sqlite import maintenance
from watchkeeper.server.errors import StartupError
from watchkeeper.server.output import write_out


def run_action(action: str, path: Path, *, revision: int = 0, target: Path | None = None) -> int:
    """Do it and print what came of it. Returns the exit code: 1 when `check` finds damage. Raises StartupError."""
    try:
        if action == "check":
            return _check(path)
        lines = _lines(action, path, revision, target)
    except KVError as error:
        raise StartupError(str(error)) from error
    except OSError as error:
        raise StartupError(f"{path}: {error.strerror or error}") from error
    write_out("".join(f"{line}\n" for line in lines))
    return 0


def _lines(action: str, path: Path, revision: int, target: Path | None) -> list[str]:
    if action == "info":
        found = maintenance.info(path)
        return [f"{f.name.replace('_', ' ')}: {getattr(found, f.name)}" for f in dataclasses.fields(found)]
    if action == "compact":
        return [f"history before revision {maintenance.compact(path, revision)} is gone"]
    if action == "vacuum":
        before, after = maintenance.vacuum(path)
        return [f"{before} bytes before, {after} bytes now"]
    assert action == "backup" and target is not None
    maintenance.backup(path, target)
    return [f"{target} holds a copy of {path}"]


def _check(path: Path) -> int:
    problems = maintenance.check(path)
    for problem in problems:
        print(problem, file=sys.stderr)
    write_out(f"{path}: {'damaged' if problems else 'sound'}\n")
    return 1 if problems else 0

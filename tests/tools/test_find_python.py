"""Which interpreter `make` sets up with."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
NAMES = ["python3", "python3.12", "python3.13", "python3.14"]
FIND = ROOT / "tools" / "find_python.py"


def interpreter(folder: Path, name: str, *, seconds: str, fit: bool = True) -> Path:
    """A program that answers what an interpreter is asked: where it is, and how fast."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(
        f"#!/bin/sh\ncase $2 in --time) echo {seconds};; *) {'echo ' + str(path) if fit else 'exit 1'};; esac\n",
    )
    path.chmod(0o755)
    return path


def found(folder: Path) -> str:
    env = {**os.environ, "PATH": f"{folder}:/bin:/usr/bin"}
    return subprocess.run(
        [sys.executable, FIND, *NAMES], env=env, check=True, capture_output=True, text=True
    ).stdout.strip()


def test_one_that_is_much_faster_is_taken(tmp_path: Path) -> None:
    interpreter(tmp_path, "python3", seconds="9")
    fast = interpreter(tmp_path, "python3.13", seconds="0.000001")
    assert found(tmp_path) == str(fast)


def test_one_that_cannot_run_it_or_breaks_is_not(tmp_path: Path) -> None:
    interpreter(tmp_path, "python3.13", seconds="0.000001", fit=False)
    interpreter(tmp_path, "python3.12", seconds="")
    interpreter(tmp_path, "python3.14", seconds="1000")
    assert str(tmp_path) not in found(tmp_path)


def test_an_interpreter_times_itself() -> None:
    shown = subprocess.run([sys.executable, FIND, "--time"], check=True, capture_output=True, text=True).stdout
    assert 0.0001 < float(shown) < 1

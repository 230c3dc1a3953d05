"""Write the hash-pinned lock files in requirements/ from pyproject.toml, for every platform and Python ≥ 3.11."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCKS = {
    "base": ["pyproject.toml", "--extra", "etcd", "--extra", "fast"],
    "build": ["requirements/build.in", "--constraint", "requirements/base.txt"],
    "dev": ["pyproject.toml", "--extra", "etcd", "--group", "dev", "--constraint", "requirements/build.txt"],
}


def main() -> int:
    """Solve each lock, in the order in which they constrain each other. Returns the exit code."""
    for name, arguments in LOCKS.items():
        command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11"]
        command += ["--generate-hashes", "--no-annotate", "--custom-compile-command", "make lock"]
        command += [*sys.argv[1:], *arguments, "-o", f"requirements/{name}.txt"]
        done = subprocess.run(command, cwd=ROOT, check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())

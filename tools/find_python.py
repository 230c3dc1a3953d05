"""Print the path of the Python to set up with: this one, unless another is much faster. Fail when this one will not do.

    python tools/find_python.py NAME…      the others to look at

Interpreters of one version differ by how they were built: without profile-guided optimization, as pyenv builds by
default, the server needs a fifth more CPU for every request. So those found are timed at a fixed piece of work.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time

MUCH = 1.15
ROUNDS = 3
"""In turn, because machines change their speed from one second to the next."""

FIT = "import sys, venv, ensurepip; sys.version_info < (3, 11) and sys.exit(1); print(sys.executable)"


class Node:
    """A value as requests make them by the dozen."""

    def __init__(self, key: str, value: int) -> None:
        self.key = key
        self.value = value

    def weight(self) -> int:
        """Any number that takes an attribute or two."""
        return len(self.key) + self.value


def main() -> int:
    """Print the choice, or this interpreter's own speed when asked for that. Returns the exit code."""
    if sys.argv[1:] == ["--time"]:
        print(measure())
        return 0
    best = output(sys.executable, "-c", FIT)
    if best is None:
        return 1
    found = list(dict.fromkeys([best, *filter(None, map(executable, sys.argv[1:]))]))
    if len(found) > 1:
        seconds = {path: float("inf") for path in found}
        for _ in range(ROUNDS):
            for path in found:
                seconds[path] = min(seconds[path], float(output(path, __file__, "--time") or "inf"))
        fastest = min(found, key=lambda path: seconds[path])
        if seconds[fastest] * MUCH < seconds[best]:
            best = fastest
    print(best)
    return 0


def executable(name: str) -> str | None:
    """The interpreter behind a name on PATH; None without one that could run watchkeeper."""
    path = shutil.which(name)
    return output(path, "-c", FIT) if path else None


def output(*command: str) -> str | None:
    """What a command prints; None when it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def measure() -> float:
    """CPU seconds for calls, attributes, dictionaries and strings: the least of several times."""
    return min(timed() for _ in range(20))


def timed() -> float:
    """CPU seconds of doing it once."""
    start = time.process_time()
    nodes: dict[str, Node] = {}
    for number in range(5000):
        key = "/registry/pods/" + str(number)
        nodes[key] = Node(key, number)
    sum(node.weight() for key, node in nodes.items() if not key.startswith("/registry/pods/9"))
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())

"""Notices that the process has ended that started this one, however that has ended.

This module is loaded by a program that has to start in some milliseconds, so it imports little.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

VARIABLE = "WATCHKEEPER_STARTED_BY"
"""The environment variable in which an executable tells who has started it, before it starts Python."""
POLL_SECONDS = 1.0
"""How often to look at `Parent.gone` where there is no descriptor to wait for."""
_TEMPORARY = "k8s_test_framework_"
"""What the names of directories begin with that envtest makes, and removes if it can."""


class Parent:
    """The process that started this one. It is known as soon as this object is made."""

    def __init__(self) -> None:
        told = os.environ.pop(VARIABLE, "")
        self._pid = int(told) if told.isdecimal() else os.getppid()

    def __repr__(self) -> str:
        return f"<Parent {self._pid}{' is gone' if self.gone else ''}>"

    @property
    def gone(self) -> bool:
        """Whether it has ended: the system gives orphans another parent."""
        return os.getppid() != self._pid

    def descriptor(self) -> int | None:
        """A new file descriptor that is readable once it has ended; None where the system has no such thing.

        Whoever has it looks at `gone` once more, for there may be another process of that number by then.
        """
        if sys.platform != "linux":
            return None
        try:
            return os.pidfd_open(self._pid)
        except OSError:
            return None


def remove_temporary(directory: Path) -> None:
    """Remove a directory that envtest has made in the system's for temporary files; leave any other."""
    import shutil
    import tempfile

    if directory.name.startswith(_TEMPORARY) and directory.parent.resolve() == Path(tempfile.gettempdir()).resolve():
        shutil.rmtree(directory, ignore_errors=True)

"""Standard output, which may be closed, full, or a pipe that nobody reads any more."""

from __future__ import annotations

import io
import os
import sys

from watchkeeper.server.errors import StartupError


class OutputError(StartupError):
    """Nothing more can be written to standard output."""


def write_out(text: str) -> None:
    """Write a text to standard output, to its end. Raises OutputError."""
    out = sys.stdout
    if out is None:
        raise OutputError("standard output: it is closed")
    try:
        out.write(text)
        out.flush()
    except OSError as error:
        _drop_rest()
        raise OutputError(f"standard output: {error.strerror}") from error


def _drop_rest() -> None:
    """What is left in the buffer would fail once more at the exit, with a complaint of Python's."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, io.UnsupportedOperation):
        pass

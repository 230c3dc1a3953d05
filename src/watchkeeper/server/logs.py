"""What the server says of itself on standard error, for people or for machines."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import TextIO

from watchkeeper.meta.field import go_quote
from watchkeeper.meta.go_numbers import parse_uint

VERBOSE = 4
"""The level, as kube-apiserver counts it, from which on everything is logged."""

_STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class TextFormatter(logging.Formatter):
    """`2026-01-31T12:00:00.000Z INFO logger: message key=value`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, and the traceback below it when there is one."""
        extra = "".join(f" {key}={value}" for key, value in _extra(record).items())
        line = f"{_time(record)} {record.levelname} {record.name}: {record.getMessage()}{extra}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line


class JsonFormatter(logging.Formatter):
    """One JSON object a line: ts, level, logger, msg, and what was passed as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """One line, whatever the message holds."""
        fields = {
            "ts": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "msg": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            fields["error"] = self.formatException(record.exc_info)
        return json.dumps(fields, default=str)


def _time(record: logging.LogRecord) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"


def _extra(record: logging.LogRecord) -> dict[str, object]:
    return {key: value for key, value in record.__dict__.items() if key not in _STANDARD}


class _OfModules(logging.Filter):
    """Lets everything through that files say whose names one of the patterns fits, and of the others what counts."""

    def __init__(self, patterns: Sequence[str], level: int) -> None:
        super().__init__()
        self._patterns = patterns
        self._level = level

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is logged."""
        return record.levelno >= self._level or any(fnmatchcase(record.module, each) for each in self._patterns)


def verbose_modules(text: str) -> tuple[str, ...]:
    """The patterns of `--vmodule pattern=N,…` that ask for everything. Raises ValueError in kube-apiserver's words."""
    found = []
    for part in filter(None, text.split(",")):
        pattern, level, *more = part.split("=") if "=" in part else (part, "")
        if more or not pattern or not level:
            raise ValueError(f"{go_quote(part)} does not have the pattern=N format")
        try:
            verbosity = parse_uint(level, bits=31)
        except ValueError as problem:
            raise ValueError(f"parsing verbosity in {go_quote(part)}: {problem}") from None
        if verbosity >= VERBOSE:
            found.append(pattern)
    return tuple(found)


def configure_logging(
    log_format: str, level: str, stream: TextIO | None = None, *, modules: Sequence[str] = ()
) -> None:
    """Send the log of the whole process to `stream` (standard error when None).

    Of files whose names, without `.py`, fit one of the patterns `modules`, everything.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    least = logging.getLevelNamesMapping()[level.upper()]
    if modules:
        handler.addFilter(_OfModules(modules, least))
        least = logging.DEBUG
    logging.basicConfig(handlers=[handler], level=least, force=True)
    logging.getLogger("asyncio").setLevel(logging.WARNING)

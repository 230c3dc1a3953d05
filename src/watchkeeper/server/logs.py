"""What the server says of itself on standard error, for people or for machines."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import TextIO

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


def configure_logging(log_format: str, level: str, stream: TextIO | None = None) -> None:
    """Send the log of the whole process to `stream` (standard error when None)."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    logging.getLogger("asyncio").setLevel(logging.WARNING)

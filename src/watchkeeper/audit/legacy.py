"""Audit events as lines of text, with a part of what they tell: kube-apiserver's older form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from watchkeeper.meta.field import go_quote

FORMATS = ("legacy", "json")


def legacy_line(line: bytes) -> bytes:
    """The line of text for an event, a line of JSON."""
    event = orjson.loads(line)
    user: Mapping[str, Any] = event.get("user") or {}
    name = user.get("username") or ""
    acting: Mapping[str, Any] | None = event.get("impersonatedUser")
    status = event.get("responseStatus")
    told = {
        "id": event.get("auditID") or "",
        "stage": event.get("stage") or "",
        "ip": next(iter(event.get("sourceIPs") or ()), "<unknown>"),
        "method": event.get("verb") or "",
        "user": name or "<none>",
        "groups": (_list(user.get("groups")) if name else "") or "<none>",
        "as": "<self>" if acting is None else acting.get("username") or "",
        "asgroups": (_list(acting.get("groups")) if acting is not None else "") or "<lookup>",
        "user-agent": event.get("userAgent") or "",
        "namespace": (event.get("objectRef") or {}).get("namespace") or "<none>",
        "uri": event.get("requestURI") or "",
        "response": "<deferred>" if status is None else str(status.get("code") or 0),
    }
    words = " ".join(f"{key}={go_quote(value)}" for key, value in told.items())
    return f"{_time(event['requestReceivedTimestamp'])} AUDIT: {words}\n".encode()


def _list(names: list[str] | None) -> str:
    return ",".join(map(go_quote, names or ()))


def _time(text: str) -> str:
    """A time with microseconds, without the zeros that they end in."""
    return text.removesuffix("Z").rstrip("0").removesuffix(".") + "Z"

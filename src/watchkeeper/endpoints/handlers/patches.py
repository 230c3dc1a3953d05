"""Provisional."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from watchkeeper.endpoints.scope import Scope

Object = dict[str, Any]


def read_patch(
    body: bytes, patch_type: str, scope: Scope, *, strict: bool
) -> tuple[Callable[[Object], Object], list[str]]:
    patch = orjson.loads(body)

    def merge(base: Any, p: Any) -> Any:
        if not isinstance(p, dict):
            return p
        out = dict(base) if isinstance(base, dict) else {}
        for k, v in p.items():
            if v is None:
                out.pop(k, None)
            else:
                out[k] = merge(out.get(k), v)
        return out

    return lambda obj: merge(obj, patch), []


def read_applied(body: bytes, *, strict: bool) -> tuple[Object, list[str]]:
    return orjson.loads(body), []


def copy_json(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value))

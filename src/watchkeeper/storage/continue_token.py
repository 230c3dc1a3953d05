"""Continue tokens: where the next page of a list begins, and at which revision, in kube-apiserver's format.

A token is the unpadded URL-safe base64 of `{"v":"meta.k8s.io/v1","rv":REVISION,"start":KEY}`; the key is relative to
the listed prefix. Revision -1 means: go on at the latest revision, giving up on one consistent state.
"""

from __future__ import annotations

import base64
import json
import posixpath
from typing import Any, TypeVar

import orjson

from watchkeeper.runtime.json_syntax import syntax_error
from watchkeeper.runtime.unmarshal import described
from watchkeeper.storage.errors import InvalidRequest

_VERSION = "meta.k8s.io/v1"
_INVALID = "invalid continue token: continue key is not valid"
T = TypeVar("T", str, int)

LATEST = -1
"""The revision in a token that goes on inconsistently."""


def encode(next_key: str, prefix: str, revision: int) -> str:
    """The token that goes on at `next_key` (the first key to look at), which must begin with `prefix`."""
    if not next_key.startswith(prefix):
        raise ValueError(f"{next_key} is not under {prefix}")
    data = orjson.dumps({"v": _VERSION, "rv": revision, "start": next_key[len(prefix) :]})
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(token: str, prefix: str) -> tuple[str, int]:
    """(first key to look at, revision) of a token for a list of `prefix`. Raises InvalidRequest.

    A token cannot lead out of the prefix: a start key with `..` or empty segments is refused.
    """
    data = _read(token)
    version, revision, start = _field(data, "v", ""), _field(data, "rv", 0), _field(data, "start", "")
    if version != _VERSION:
        raise InvalidRequest(f"{_INVALID}: server does not recognize this encoded version {version}")
    if revision == 0:
        raise InvalidRequest(f"{_INVALID}: incorrect encoded start resourceVersion (version {_VERSION})")
    if not start:
        raise InvalidRequest(f"{_INVALID}: encoded start key empty (version {_VERSION})")
    path = start if start.startswith("/") else "/" + start
    if path.startswith("//") or posixpath.normpath(path) != path:
        raise InvalidRequest(f"{_INVALID}: {start}")
    return prefix + path[1:], revision


def _read(token: str) -> dict[str, Any]:
    """What a token holds; a null counts as nothing."""
    try:
        raw = _decode_base64(token)
    except ValueError as error:
        raise InvalidRequest(f"{_INVALID}: {error}") from None
    try:
        data = orjson.loads(raw)
    except ValueError:
        fault = syntax_error(raw)
        if fault is not None:
            raise InvalidRequest(f"{_INVALID}: {fault}") from None
        data = json.loads(raw.decode(errors="replace"))  # only its text is no UTF-8
    if data is not None and not isinstance(data, dict):
        raise _wrong_type(data, "value of type storage.continueToken")
    return data or {}


def _field(data: dict[str, Any], name: str, absent: T) -> T:
    value = data.get(name)
    if value is None:
        return absent
    if type(value) is not type(absent):
        wanted = "string" if isinstance(absent, str) else "int64"
        raise _wrong_type(value, f"struct field continueToken.{name} of type {wanted}")
    found: T = value
    return found


def _wrong_type(value: object, target: str) -> InvalidRequest:
    return InvalidRequest(f"{_INVALID}: json: cannot unmarshal {described(value)} into Go {target}")


def _decode_base64(token: str) -> bytes:
    """Strict, without padding."""
    if "=" in token or "+" in token or "/" in token:
        at = min(i for i in (token.find(c) for c in "=+/") if i >= 0)
        raise ValueError(f"illegal base64 data at input byte {at}")
    try:
        return base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except ValueError:  # also for text beyond ASCII
        bad = next((i for i, c in enumerate(token) if not (c.isascii() and (c.isalnum() or c in "-_"))), len(token) - 1)
        raise ValueError(f"illegal base64 data at input byte {bad}") from None

"""Reading what a webhook answered: the review it was sent, of the same kind and version."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.runtime.codec import said
from watchkeeper.runtime.json_text import JsonError, read_json
from watchkeeper.runtime.schema import Schema
from watchkeeper.runtime.scheme import DecodeError
from watchkeeper.runtime.unmarshal import described, unmarshal
from watchkeeper.runtime.yaml import load_yaml
from watchkeeper.webhook.client import WebhookError

Object = dict[str, Any]

_HEADER = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_SCHEME = "pkg/util/webhook/client.go:71"
"""How the reference names the scheme that answers are read by."""
_OF_ANY_SCHEME = frozenset({"Status", "APIVersions", "APIGroup", "APIGroupList", "APIResourceList"})
"""Kinds of version v1 that every scheme knows."""
MAX_YAML = 256 * 1024
"""Bytes of an answer in YAML. No webhook is known that answers so, and reading it takes a second for each megabyte."""


def read_review(body: bytes, kind: GroupVersionKind, schema: Schema) -> Object:
    """The review in an answer, decoded by a schema, which may leave kind and apiVersion out.

    `kind` and `apiVersion` are as they were sent. Raises WebhookError, in the words of Go's decoder.
    """
    parsed = _parse(body)
    said_version, said_kind = _said(parsed, "apiVersion"), _said(parsed, "kind")
    try:
        group, version = GroupVersion.parse(said_version)
    except ValueError as problem:
        raise WebhookError(str(problem)) from problem
    found = GroupVersionKind(
        group if version else kind.group, version or kind.version, said_kind if said_kind else kind.kind
    )
    if found != kind:
        raise WebhookError(_mismatch(found, kind))
    try:
        return unmarshal(schema, {} if parsed is None else parsed, None)
    except DecodeError as problem:
        raise WebhookError(str(problem)) from problem


def _parse(body: bytes) -> Any:
    is_json = body.lstrip()[:1] == b"{"
    if not is_json and len(body) > MAX_YAML:
        raise WebhookError(f"the answer is not JSON, and with {len(body)} bytes too long to be read as YAML")
    try:
        return read_json(body) if is_json else load_yaml(body)
    except JsonError as problem:
        raise _header_error(str(problem)) from problem
    except ValueError as problem:
        raise WebhookError(str(problem)) from problem


def _said(parsed: Any, name: str) -> str:
    if parsed is None:
        return ""
    if not isinstance(parsed, dict):
        raise _header_error(f"json: cannot unmarshal {described(parsed)} into Go value of type {_HEADER}")
    try:
        return said(parsed, name)
    except JsonError as problem:
        raise WebhookError(str(problem)) from problem


def _header_error(why: str) -> WebhookError:
    return WebhookError(f"couldn't get version/kind; json parse error: {why}")


def _mismatch(found: GroupVersionKind, kind: GroupVersionKind) -> str:
    known = found.kind == kind.kind and found.group == kind.group and found.version in ("v1", "v1beta1")
    if known or (found.api_version == "v1" and found.kind in _OF_ANY_SCHEME):
        source, target = f"{found.version}.{found.kind}", f"{kind.version}.{kind.kind}"
        return f"converting ({source}) to ({target}): unknown conversion"
    return (
        f'no kind {go_quote(found.kind)} is registered for version {go_quote(found.api_version)} in scheme "{_SCHEME}"'
    )

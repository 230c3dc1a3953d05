"""What a request asks, read off its method, path and query (apiserver's RequestInfo).

`/api/v1/namespaces/ns/pods/p/status` is a resource request; `/healthz` is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """The question, as authorization, audit and routing see it."""

    is_resource: bool
    path: str
    verb: str
    """get, list, watch, create, update, patch, delete, deletecollection; the lower-case method when not a resource."""
    api_prefix: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""
    parts: tuple[str, ...] = ()
    """The path from the resource on, namespace taken off. Of what is no resource request: the verb that a path of the
    old form ends with, which then says nothing of what to watch."""
    deprecated_watch: bool = False
    """Whether the path was of the old /watch/ form."""
    long_running: bool = False
    """Whether it lasts as long as its client wants: neither the request timeout nor the limits in flight apply."""


_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_VERBS_IN_PATHS = frozenset({"watch", "proxy"})
_LONG_RUNNING_VERBS = frozenset({"watch", "proxy"})
_LONG_RUNNING_SUBRESOURCES = frozenset({"attach", "exec", "proxy", "log", "portforward"})
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


@lru_cache(maxsize=4096)
def parse_request_info(method: str, path: str, query: str) -> RequestInfo:
    """Read what is asked. Of the raw query string only `watch` and a metadata.name field selector matter here.

    Empty path segments count: `/api/v1/namespaces//pods` asks for the pods of all namespaces.
    """
    parts = path.strip("/").split("/")
    prefix = parts[0]
    if len(parts) < 3 or prefix not in ("api", "apis") or (prefix == "apis" and len(parts) < 4):
        return RequestInfo(is_resource=False, path=path, verb=method.lower())
    if prefix == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        group, version, rest = "", parts[1], parts[2:]
    verb = _VERBS.get(method, "")
    deprecated_watch = False
    if rest[0] in _VERBS_IN_PATHS and len(rest) == 1:
        return RequestInfo(is_resource=False, path=path, verb=method.lower(), parts=tuple(rest))
    if rest[0] in _VERBS_IN_PATHS:
        deprecated_watch = rest[0] == "watch"
        verb, rest = rest[0], rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
        elif len(rest) == 2 and not namespace:
            rest = rest[:1]
    resource = rest[0]
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    if not name and verb == "get":
        verb = "watch" if _wants_watch(query) else "list"
    elif not name and verb == "delete":
        verb = "deletecollection"
    if not name and verb in ("list", "watch"):
        name = _selected_name(query)
    return RequestInfo(
        is_resource=True,
        path=path,
        verb=verb,
        api_prefix=prefix,
        group=group,
        version=version,
        namespace=namespace,
        resource=resource,
        subresource=subresource,
        name=name,
        parts=tuple(rest),
        deprecated_watch=deprecated_watch,
        long_running=verb in _LONG_RUNNING_VERBS or subresource in _LONG_RUNNING_SUBRESOURCES,
    )


def _wants_watch(query: str) -> bool:
    if "watch" not in query:
        return False
    for pair in query.split("&"):
        key, _, value = pair.partition("=")
        if key == "watch":
            return value.lower() not in ("0", "false")
    return False


def _selected_name(query: str) -> str:
    if "metadata.name" not in query:
        return ""
    from urllib.parse import parse_qs

    for text in parse_qs(query).get("fieldSelector", []):
        for term in text.split(","):
            key, found, value = term.partition("=")
            if found and key == "metadata.name" and not key.endswith("!"):
                return value.lstrip("=")
    return ""

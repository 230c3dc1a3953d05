"""How a webhook is reached: a URL or a service (apiserver's `util/webhook`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from watchkeeper.apis.validation.names import is_dns1123_subdomain, is_port_number
from watchkeeper.meta.field import FieldError, go_quote, invalid, required

_FORM = "; desired format: https://host[/path]"
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):(.*)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL)
_BAD_HOST = re.compile(r"[^\x80-\U0010ffffA-Za-z0-9\-._~!$&'()*+,;=:\[\]<>\"%]")
_PORT = re.compile(r"(?::[0-9]*)?")


def validate_client_config(config: Mapping[str, Any], path: str) -> list[FieldError]:
    """A clientConfig: a URL or a service, not both."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if url is not None:
        return validate_webhook_url(url, f"{path}.url")
    return validate_webhook_service(service or {}, f"{path}.service")


def validate_webhook_url(text: str, path: str) -> list[FieldError]:
    """The URL of a webhook: https and a host, neither user nor query nor fragment."""
    try:
        url = _parse(text)
    except ValueError as problem:
        return [required(path, f"url must be a valid URL: parse {go_quote(text)}: {problem}{_FORM}")]
    errors: list[FieldError] = []
    if url.scheme != "https":
        errors.append(invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not url.host:
        errors.append(invalid(path, url.host, f"host must be specified{_FORM}"))
    if url.user is not None:
        errors.append(invalid(path, url.user, "user information is not permitted in the URL"))
    if url.fragment:
        errors.append(invalid(path, url.fragment, "fragments are not permitted in the URL"))
    if url.query:
        errors.append(invalid(path, url.query, "query parameters are not permitted in the URL"))
    return errors


def validate_webhook_service(service: Mapping[str, Any], path: str) -> list[FieldError]:
    """A reference to a service.

    The reference hands name and namespace to its check the wrong way round, so a missing one is reported as the other.
    """
    swapped = (("namespace", "name"), ("name", "namespace"))
    errors = [required(f"{path}.{shown}") for given, shown in swapped if not service.get(given)]
    port = service.get("port") or 0
    if wrong := is_port_number(port):
        errors.append(invalid(f"{path}.port", port, f"port is not valid: {', '.join(wrong)}"))
    return errors + _path_errors(service.get("path") or "", f"{path}.path")


def _path_errors(text: str, path: str) -> list[FieldError]:
    if text in ("", "/"):
        return []
    if text == "//":
        return [invalid(path, text, "segment[0] may not be empty")]
    errors = [] if text.startswith("/") else [invalid(path, text, "must start with a '/'")]
    for i, segment in enumerate(text[1:].removesuffix("/").split("/")):
        if not segment:
            errors.append(invalid(path, text, f"segment[{i}] may not be empty"))
            continue
        errors += [invalid(path, text, f"segment[{i}]: {wrong}") for wrong in is_dns1123_subdomain(segment)]
    return errors


@dataclass(frozen=True, slots=True)
class _URL:
    scheme: str
    user: str | None
    host: str
    query: str
    fragment: str


def _parse(text: str) -> _URL:
    """The parts of a URL as Go's url.Parse finds them. Raises ValueError in its words."""
    rest, _, fragment = text.partition("#")
    if _CONTROL.search(rest):
        raise ValueError("net/url: invalid control character in URL")
    if rest.startswith(":"):
        raise ValueError("missing protocol scheme")
    found = _SCHEME.fullmatch(rest)
    scheme, rest = (found.group(1).lower(), found.group(2)) if found else ("", rest)
    rest, _, query = rest.partition("?")
    if scheme and not rest.startswith("/"):
        return _URL(scheme, None, "", query, fragment)
    if ":" in rest.partition("/")[0]:
        raise ValueError("first path segment in URL cannot contain colon")
    user, host = None, ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
        before, at, host = authority.rpartition("@")
        user = before if at else None
        _check_host(host)
    _check_escapes(rest)
    return _URL(scheme, user, host, query, fragment)


def _check_host(host: str) -> None:
    if bad := _BAD_HOST.search(host):
        raise ValueError(f"invalid character {go_quote(bad.group())} in host name")
    if host.startswith("["):
        inner, bracket, port = host.rpartition("]")
        if not bracket:
            raise ValueError("missing ']' in host")
        host = inner
    else:
        _, colon, digits = host.rpartition(":")
        port = colon + digits if colon else ""
    if not _PORT.fullmatch(port):
        raise ValueError(f"invalid port {go_quote(port)} after host")
    _check_escapes(host)


def _check_escapes(text: str) -> None:
    if bad := _BAD_ESCAPE.search(text):
        raise ValueError(f"invalid URL escape {go_quote(bad.group())}")

"""What a webhook's client configuration may say (apiserver's util/webhook)."""

from __future__ import annotations

import base64
import re
from typing import Any

from watchkeeper.apis.validation.names import is_dns1123_subdomain, is_port_number
from watchkeeper.cel.urls import URL, URLError, parse_request_uri
from watchkeeper.meta.field import FieldError, invalid, required
from watchkeeper.runtime.x509 import authorities_fault

_FORM = "; desired format: https://host[/path]"
_USER = re.compile(r"^[a-zA-Z][a-zA-Z0-9+.-]*://([^/?#@]*)@")


def url_errors(text: str, path: str) -> list[FieldError]:
    """What is wrong with the URL of a webhook."""
    base, _, fragment = text.partition("#")
    try:
        url = _parse(base)
    except URLError as problem:
        return [required(path, f"url must be a valid URL: {problem}{_FORM}")]
    errors: list[FieldError] = []
    if url.scheme != "https":
        errors.append(invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}"))
    if not url.host:
        errors.append(invalid(path, "", f"host must be specified{_FORM}"))
    user = _USER.match(text)
    if user:
        errors.append(invalid(path, user.group(1), "user information is not permitted in the URL"))
    if fragment:
        errors.append(invalid(path, fragment, "fragments are not permitted in the URL"))
    if url.query:
        errors.append(invalid(path, url.query, "query parameters are not permitted in the URL"))
    return errors


def _parse(text: str) -> URL:
    """A URL or a relative reference."""
    if not text:
        return URL("", "", "", "", "")
    try:
        return parse_request_uri(text)
    except URLError as problem:
        if not str(problem).endswith("invalid URI for request"):
            raise
    path, _, query = text.partition("?")
    return URL(text, "", "", path, query)


def service_errors(service: dict[str, Any], path: str) -> list[FieldError]:
    """What is wrong with a reference to a service. The reference takes name and namespace for each other."""
    missing = (("namespace", "name"), ("name", "namespace"))
    errors = [required(f"{path}.{told}") for key, told in missing if not service.get(key)]
    port = service.get("port") or 0
    wrong = is_port_number(port)
    if wrong:
        errors.append(invalid(f"{path}.port", port, f"port is not valid: {', '.join(wrong)}"))
    return errors + _service_path_errors(service.get("path") or "", f"{path}.path")


def _service_path_errors(text: str, path: str) -> list[FieldError]:
    if text in ("", "/"):
        return []
    if text == "//":
        return [invalid(path, text, "segment[0] may not be empty")]
    errors: list[FieldError] = []
    if not text.startswith("/"):
        errors.append(invalid(path, text, "must start with a '/'"))
    for i, segment in enumerate(text[1:].removesuffix("/").split("/")):
        if not segment:
            errors.append(invalid(path, text, f"segment[{i}] may not be empty"))
        else:
            errors += [invalid(path, text, f"segment[{i}]: {wrong}") for wrong in is_dns1123_subdomain(segment)]
    return errors


def ca_bundle_errors(bundle: str, path: str) -> list[FieldError]:
    """What is wrong with certificates of authorities, given in PEM and base64."""
    try:
        problem = authorities_fault(base64.b64decode(bundle, validate=True))
    except ValueError:
        problem = "unable to parse bytes as PEM block"
    return [invalid(path, bundle, f"unable to load root certificates: {problem}")] if problem else []

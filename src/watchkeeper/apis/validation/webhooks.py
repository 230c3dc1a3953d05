"""How a webhook is reached, a URL or a service (apiserver's `util/webhook`), and which reviews it takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from watchkeeper.apis.validation.names import is_dns1035_label, is_dns1123_subdomain, is_port_number
from watchkeeper.meta.field import FieldError, invalid, required
from watchkeeper.meta.urls import URLError, parse_url

REVIEW_VERSIONS = ("v1", "v1beta1")
"""Of reviews that this server sends, of admission and of conversions."""
_FORM = "; desired format: https://host[/path]"


def validate_client_config(config: Mapping[str, Any], path: str) -> list[FieldError]:
    """A clientConfig: a URL or a service, not both."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        return [required(path, "exactly one of url or service is required")]
    if url is not None:
        return validate_webhook_url(url, f"{path}.url")
    return validate_webhook_service(service or {}, f"{path}.service")


def validate_review_versions(
    versions: Sequence[str], path: str, *, required_text: str = "", allow_unknown: bool
) -> list[FieldError]:
    """The versions of reviews that a webhook takes; without `allow_unknown`, one of ours has to be among them."""
    if not versions:
        return [required(path, required_text)]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, version in enumerate(versions):
        if version in seen:
            errors.append(invalid(f"{path}[{i}]", version, "duplicate version"))
            continue
        seen.add(version)
        errors += [invalid(f"{path}[{i}]", version, text) for text in is_dns1035_label(version)]
    if not (allow_unknown or takes_known_review(versions)):
        errors.append(invalid(path, versions, f"must include at least one of {', '.join(REVIEW_VERSIONS)}"))
    return errors


def takes_known_review(versions: Iterable[str]) -> bool:
    """Whether one of these versions is one of which this server sends reviews."""
    return any(version in REVIEW_VERSIONS for version in versions)


def validate_webhook_url(text: str, path: str) -> list[FieldError]:
    """The URL of a webhook: https and a host, neither user nor query nor fragment."""
    try:
        url = parse_url(text)
    except URLError as problem:
        return [required(path, f"url must be a valid URL: {problem}{_FORM}")]
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

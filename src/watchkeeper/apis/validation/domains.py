"""The rules of names that begin with, or are, domains."""

from __future__ import annotations

from watchkeeper.apis.validation.names import is_dns1123_label, is_dns1123_subdomain, is_http_path
from watchkeeper.meta.field import FieldError, invalid, required


def validate_fully_qualified_name(name: str, path: str) -> list[FieldError]:
    """A domain of three segments or more, such as the name of a webhook."""
    if not name:
        return [required(path)]
    if wrong := is_dns1123_subdomain(name):
        return [invalid(path, name, ",".join(wrong))]
    if name.count(".") < 2:
        return [invalid(path, name, "should be a domain with at least three segments separated by dots")]
    return []


def validate_domain_name(name: str, path: str) -> list[FieldError]:
    """A domain of two segments or more, with or without the dot at its end."""
    if not name:
        return [required(path)]
    name = name.removesuffix(".")
    if wrong := is_dns1123_subdomain(name):
        return [invalid(path, name, ",".join(wrong))]
    labels = name.split(".")
    if len(labels) < 2:
        return [invalid(path, name, "should be a domain with at least two segments separated by dots")]
    for label in labels:
        if wrong := is_dns1123_label(label):
            return [invalid(path, label, ",".join(wrong))]
    return []


def validate_domain_prefixed_path(value: str, path: str) -> list[FieldError]:
    """A domain, a slash and an HTTP path, such as the name of a controller."""
    if not value:
        return [required(path)]
    host, _, rest = value.partition("/")
    if not host or not rest:
        return [invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')]
    errors = [invalid(path, host, text) for text in is_dns1123_subdomain(host)]
    return errors + [invalid(path, rest, text) for text in is_http_path(rest)]

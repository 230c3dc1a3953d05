"""What the rules of resource.k8s.io have in common: bounded lists, sets and maps, and the names in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.volume_sources import validate_csi_driver_name
from watchkeeper.apis.validation.names import byte_length, is_c_identifier, is_dns1123_label, is_dns1123_subdomain
from watchkeeper.meta.field import FieldError, JsonText, duplicate, invalid, required, too_long, too_many

Object = Mapping[str, Any]
Rule = Callable[[Any, str], list[FieldError]]

_MAX_POOL_NAME = 253
_MAX_IDENTIFIER = 32
_LEAST_KEY_SHOWN = 16
QUALIFIED_NAME_LENGTH = 63 + 1 + _MAX_IDENTIFIER
_uid_match = re.compile(
    r"(urn:uuid:)?[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|\{[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\}|[0-9a-fA-F]{32}"
).fullmatch
_NORMAL_UID = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` "
    "with lowercase hexadecimal characters"
)

validate_driver_name = validate_csi_driver_name
"""Drivers of devices are named as those of volumes are."""


def validate_list(items: Sequence[Any] | None, limit: int, rule: Rule, path: str) -> list[FieldError]:
    """Each item, unless there are more than `limit`."""
    items = items or ()
    if len(items) > limit:
        return [too_many(path, len(items), limit)]
    return [error for i, item in enumerate(items) for error in rule(item, f"{path}[{i}]")]


def validate_set(
    items: Sequence[Any] | None,
    limit: int | None,
    rule: Rule,
    key: Callable[[Any], Hashable],
    path: str,
    *,
    shown: Callable[[Any], Any] | None = None,
) -> list[FieldError]:
    """Each item, unless there are more than `limit`, and that none has the key of another.

    `shown` is what errors show of an item whose key comes again; None: the key.
    """
    items = items or ()
    if limit is not None and len(items) > limit:
        return [too_many(path, len(items), limit)]
    errors = [error for i, item in enumerate(items) for error in rule(item, f"{path}[{i}]")]
    seen: set[Hashable] = set()
    for i, item in enumerate(items):
        found = key(item)
        if found in seen:
            errors.append(duplicate(f"{path}[{i}]", found if shown is None else shown(item)))
        seen.add(found)
    return errors


def validate_map(
    items: Mapping[str, Any] | None, limit: int | None, longest_key: int, key_rule: Rule, rule: Rule, path: str
) -> list[FieldError]:
    """Each key and each value, by key, unless there are more than `limit`. Keys are shown up to `longest_key`.

    What is wrong with a key is an error of the map, as in the reference since Kubernetes 1.35.
    """
    items = items or {}
    if limit is not None and len(items) > limit:
        return [too_many(path, len(items), limit)]
    errors: list[FieldError] = []
    for key in sorted(items):
        at = f"{path}[{_shortened(key, max(longest_key, _LEAST_KEY_SHOWN))}]"
        errors += key_rule(key, path)
        errors += rule(items[key], at)
    return errors


def _shortened(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    kept = limit - 3
    return f"{text[: (kept + 1) // 2]}...{text[len(text) - kept // 2 :]}"


def validate_label(name: str | None, path: str) -> list[FieldError]:
    """A DNS label."""
    return [invalid(path, name or "", text) for text in is_dns1123_label(name or "")]


def validate_pool_name(name: str | None, path: str) -> list[FieldError]:
    """DNS subdomains, joined by slashes."""
    if not name:
        return [required(path)]
    errors = [too_long(path, name, _MAX_POOL_NAME)] if byte_length(name) > _MAX_POOL_NAME else []
    return errors + [invalid(path, part, text) for part in name.split("/") for text in is_dns1123_subdomain(part)]


def validate_uid(uid: str, path: str) -> list[FieldError]:
    """A UUID in its usual form."""
    if not _uid_match(uid):
        length = byte_length(uid)
        wrong = "invalid UUID format" if length in (32, 36, 38, 45) else f"invalid UUID length: {length}"
        return [invalid(path, uid, f"error validating uid: {wrong}")]
    if len(uid) != 36 or uid != uid.lower():
        return [invalid(path, uid, _NORMAL_UID)]
    return []


def validate_identifier(name: str, path: str) -> list[FieldError]:
    """A C identifier of at most 32 bytes."""
    errors = [too_long(path, name, _MAX_IDENTIFIER)] if byte_length(name) > _MAX_IDENTIFIER else []
    return errors + [invalid(path, name, text) for text in is_c_identifier(name)]


def validate_qualified_name(name: str, path: str) -> list[FieldError]:
    """An identifier, perhaps with a domain and a slash before it."""
    parts = name.split("/")
    if len(parts) == 1:
        return validate_identifier(name, path)
    if len(parts) > 2:
        return []
    domain, identifier = parts
    errors = validate_driver_name(domain, path) if domain else [invalid(path, "", "the domain must not be empty")]
    if not identifier:
        return [*errors, invalid(path, "", "the name must not be empty")]
    return errors + validate_identifier(identifier, path)


def validate_fully_qualified_name(name: str, path: str) -> list[FieldError]:
    """A qualified name with its domain."""
    errors = validate_qualified_name(name, path)
    if "/" not in name:
        text = "a fully qualified name must be a domain and a name separated by a slash"
        errors.append(invalid(path, JsonText(name), text))
    return errors

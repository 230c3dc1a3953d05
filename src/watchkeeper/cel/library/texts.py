"""Texts in Kubernetes: regular expressions, URLs, named formats and JSON patch keys."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote_plus

from watchkeeper.apis.validation.names import (
    is_label_value,
    is_qualified_name,
    name_is_dns1035_label,
    name_is_dns_label,
    name_is_dns_subdomain,
)
from watchkeeper.cel.decls import Overload, overload
from watchkeeper.cel.formats import is_known_format
from watchkeeper.cel.library.parsing import can
from watchkeeper.cel.regex import RegexError, TooCostly, compile_given
from watchkeeper.cel.types import struct
from watchkeeper.cel.values import NONE, CostLimitExceeded, EvalError, NoSuchOverload, Optional, register_value_type
from watchkeeper.meta.urls import URL, URLError, parse_request_uri, parse_url

_BROKEN_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
"""What makes a pair of a query one that is passed over."""


def declarations() -> list[tuple[str, Overload]]:
    """All overloads of the libraries."""
    return [
        overload("string_find_string", "string.find(string) -> string", _find),
        overload("string_find_all_string", "string.findAll(string) -> list(string)", _find_all),
        overload("string_find_all_string_int", "string.findAll(string, int) -> list(string)", _find_all),
        overload("string_to_url", "::url(string) -> kubernetes.URL", _url),
        overload("is_url_string", "::isURL(string) -> bool", can(_url)),
        overload("url_get_scheme", "kubernetes.URL.getScheme() -> string", lambda u: u.scheme),
        overload("url_get_host", "kubernetes.URL.getHost() -> string", lambda u: u.host),
        overload("url_get_hostname", "kubernetes.URL.getHostname() -> string", lambda u: u.hostname),
        overload("url_get_port", "kubernetes.URL.getPort() -> string", lambda u: u.port),
        overload("url_get_escaped_path", "kubernetes.URL.getEscapedPath() -> string", lambda u: u.escaped_path),
        overload("url_get_query", "kubernetes.URL.getQuery() -> map(string, list(string))", _query),
        *_formats(),
    ]


def _pattern(source: Any) -> Any:
    try:
        return compile_given(source)
    except RegexError as problem:
        raise EvalError(f"Illegal regex: {problem}") from None


def _find(text: str, pattern: str) -> str:
    try:
        return _pattern(pattern).find(text) or ""
    except TooCostly:
        raise CostLimitExceeded from None


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    try:
        found = list(_pattern(pattern).find_all(text))
    except TooCostly:
        raise CostLimitExceeded from None
    return found if limit < 0 else found[:limit]


def _url(text: Any) -> URL:
    if not isinstance(text, str):
        raise NoSuchOverload
    try:
        parse_request_uri(text)  # only decides whether it is one: that reading knows no fragments
        return parse_url(text)
    except URLError as problem:
        raise EvalError(f"URL parse error during conversion from string: {problem}") from None


def _query(url: URL) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for pair in url.query.split("&"):
        key, _, value = pair.partition("=")
        if pair and ";" not in pair and not _BROKEN_ESCAPE.search(pair):
            out.setdefault(unquote_plus(key), []).append(unquote_plus(value))
    return out


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A format that texts can be checked against; compared by name."""

    name: str
    check: Callable[[str], list[str]]
    max_regex_size: int


def _strfmt(name: str, complaint: str) -> Callable[[str], list[str]]:
    return lambda text: [] if is_known_format(name, text) else [complaint]


def _uri_errors(text: str) -> list[str]:
    try:
        parse_request_uri(text)
    except URLError as problem:
        return [str(problem)]
    return []


_UUID_REGEX = "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
FORMATS = {
    "dns1123Label": NamedFormat("DNS1123Label", lambda s: name_is_dns_label(s, False), 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", lambda s: name_is_dns_subdomain(s, False), 60),
    "dns1035Label": NamedFormat("DNS1035Label", lambda s: name_is_dns1035_label(s, False), 30),
    "qualifiedName": NamedFormat("QualifiedName", lambda s: list(is_qualified_name(s)), 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", lambda s: name_is_dns_label(s, True), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", lambda s: name_is_dns_subdomain(s, True), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", lambda s: name_is_dns1035_label(s, True), 30),
    "labelValue": NamedFormat("LabelValue", lambda s: list(is_label_value(s)), 40),
    "uri": NamedFormat("URI", _uri_errors, 1103),
    "uuid": NamedFormat("uuid", _strfmt("uuid", "does not match the UUID format"), len(_UUID_REGEX)),
    "byte": NamedFormat("byte", _strfmt("byte", "invalid base64"), 84),
    "date": NamedFormat("date", _strfmt("date", "invalid date"), 80),
    "datetime": NamedFormat("datetime", _strfmt("datetime", "invalid datetime"), 80),
}
register_value_type(NamedFormat, struct("kubernetes.NamedFormat"))
register_value_type(URL, struct("kubernetes.URL"))


def _formats() -> list[tuple[str, Overload]]:
    out = [
        overload(f"format.{name}", f"::format.{name}() -> kubernetes.NamedFormat", _constant(found))
        for name, found in FORMATS.items()
    ]
    out += [
        overload("format-named", "::format.named(string) -> optional(kubernetes.NamedFormat)", _named),
        overload("format-validate", "kubernetes.NamedFormat.validate(string) -> optional(list(string))", _validate),
    ]
    return out


def _constant(value: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: value


def _named(name: str) -> Optional:
    found = FORMATS.get(name)
    return Optional(found) if found is not None else NONE


def _validate(named: Any, text: Any) -> Optional:
    if not isinstance(named, NamedFormat) or not isinstance(text, str):
        raise NoSuchOverload
    problems = named.check(text)
    return Optional(problems) if problems else NONE


def json_patch_declarations() -> list[tuple[str, Overload]]:
    """The function that mutating admission policies have besides."""
    return [
        overload(
            "string_jsonpatch_escapeKey_string",
            "::jsonpatch.escapeKey(string) -> string",
            lambda text: re.sub("[~/]", lambda m: "~0" if m.group() == "~" else "~1", text),
        )
    ]

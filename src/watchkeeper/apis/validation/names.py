"""What names, label keys and other small texts may look like.

Each `is_*` function returns what is wrong with a text, as a tuple of sentences; empty means fine. The same few texts
come again with every object, so results are kept in bounded caches.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

DNS1123_LABEL_MAX = 63
DNS1123_SUBDOMAIN_MAX = 253
LABEL_VALUE_MAX = 63
LABEL_KEY_NAME_MAX = 63

_CACHED = 4096

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + "(\\." + _LABEL + ")*"
_LABEL_UNDERSCORE = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_UNDERSCORE = _LABEL_UNDERSCORE + "(\\." + _LABEL_UNDERSCORE + ")*"
_DNS1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_WILDCARD = "\\*\\." + _SUBDOMAIN
_KEY_NAME = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = "(" + _KEY_NAME + ")?"
_C_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_ENV_VAR = "[-._a-zA-Z][-._a-zA-Z0-9]*"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_HTTP_HEADER = "[-A-Za-z0-9]+"
_PERCENT = "[0-9]+%"
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"

_label_match = re.compile(_LABEL).fullmatch
_subdomain_match = re.compile(_SUBDOMAIN).fullmatch
_subdomain_underscore_match = re.compile(_SUBDOMAIN_UNDERSCORE).fullmatch
_dns1035_match = re.compile(_DNS1035).fullmatch
_wildcard_match = re.compile(_WILDCARD).fullmatch
_key_name_match = re.compile(_KEY_NAME).fullmatch
_label_value_match = re.compile(_LABEL_VALUE).fullmatch
_c_identifier_match = re.compile(_C_IDENTIFIER).fullmatch
_env_var_match = re.compile(_ENV_VAR).fullmatch
_config_key_match = re.compile(_CONFIG_KEY).fullmatch
_http_header_match = re.compile(_HTTP_HEADER).fullmatch
_percent_match = re.compile(_PERCENT).fullmatch
_http_path_match = re.compile(_HTTP_PATH).fullmatch
_port_charset_match = re.compile("[-a-z0-9]+").fullmatch
_letter_search = re.compile("[a-z]").search

_LABEL_WORDS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_UNDERSCORE_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_CASELESS_WORDS = (
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_DNS1035_WORDS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
    "start with an alphabetic character, and end with an alphanumeric character"
)
_WILDCARD_WORDS = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
    "which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
)
_KEY_NAME_WORDS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)
_LABEL_VALUE_WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_ENV_VAR_WORDS = (
    "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
    "and must not start with a digit"
)
_C_IDENTIFIER_WORDS = (
    "a valid C identifier must start with alphabetic character or '_', "
    "followed by a string of alphanumeric characters or '_'"
)

Texts = tuple[str, ...]
NameRule = Callable[[str, bool], list[str]]


def byte_length(text: str) -> int:
    """The length of a text in UTF-8, in bytes: what length limits count."""
    return len(text) if text.isascii() else len(text.encode())


def regex_error(words: str, pattern: str, *examples: str) -> str:
    """The sentence about a text that does not match a pattern."""
    if not examples:
        return f"{words} (regex used for validation is '{pattern}')"
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{words} (e.g. {shown}regex used for validation is '{pattern}')"


def max_length_error(limit: int) -> str:
    """The sentence about a name that is too long."""
    return f"must be no more than {limit} characters"


def inclusive_range_error(low: int, high: int) -> str:
    """The sentence about a number outside of a range."""
    return f"must be between {low} and {high}, inclusive"


def _max_bytes_error(limit: int) -> str:
    return f"must be no more than {limit} bytes"


@lru_cache(_CACHED)
def is_dns1123_label(value: str) -> Texts:
    """A DNS label: lower case, digits and inner hyphens, at most 63 bytes."""
    errors = []
    if byte_length(value) > DNS1123_LABEL_MAX:
        errors.append(max_length_error(DNS1123_LABEL_MAX))
    if _label_match(value) is None:
        if _subdomain_match(value) is not None:
            errors.append("must not contain dots")
        else:
            errors.append(regex_error(_LABEL_WORDS, _LABEL, "my-name", "123-abc"))
    return tuple(errors)


@lru_cache(_CACHED)
def is_dns1123_subdomain(value: str) -> Texts:
    """DNS labels joined by dots, at most 253 bytes."""
    errors = []
    if byte_length(value) > DNS1123_SUBDOMAIN_MAX:
        errors.append(max_length_error(DNS1123_SUBDOMAIN_MAX))
    if _subdomain_match(value) is None:
        errors.append(regex_error(_SUBDOMAIN_WORDS, _SUBDOMAIN, "example.com"))
    return tuple(errors)


@lru_cache(_CACHED)
def is_dns1123_subdomain_with_underscore(value: str) -> Texts:
    """As a DNS subdomain, with underscores allowed."""
    errors = []
    if byte_length(value) > DNS1123_SUBDOMAIN_MAX:
        errors.append(max_length_error(DNS1123_SUBDOMAIN_MAX))
    if _subdomain_underscore_match(value) is None:
        errors.append(regex_error(_SUBDOMAIN_UNDERSCORE_WORDS, _SUBDOMAIN_UNDERSCORE, "example.com"))
    return tuple(errors)


def is_dns1123_subdomain_caseless(value: str) -> Texts:
    """As a DNS subdomain, upper case allowed (names of drivers)."""
    errors = []
    if byte_length(value) > DNS1123_SUBDOMAIN_MAX:
        errors.append(_max_bytes_error(DNS1123_SUBDOMAIN_MAX))
    if not value.isascii() or _subdomain_match(value.lower()) is None:
        errors.append(regex_error(_SUBDOMAIN_CASELESS_WORDS, _SUBDOMAIN, "Example.com"))
    return tuple(errors)


@lru_cache(_CACHED)
def is_dns1035_label(value: str) -> Texts:
    """A DNS label that starts with a letter."""
    errors = []
    if byte_length(value) > DNS1123_LABEL_MAX:
        errors.append(max_length_error(DNS1123_LABEL_MAX))
    if _dns1035_match(value) is None:
        errors.append(regex_error(_DNS1035_WORDS, _DNS1035, "my-name", "abc-123"))
    return tuple(errors)


def is_wildcard_dns1123_subdomain(value: str) -> Texts:
    """`*.` and a DNS subdomain."""
    errors = []
    if byte_length(value) > DNS1123_SUBDOMAIN_MAX:
        errors.append(max_length_error(DNS1123_SUBDOMAIN_MAX))
    if _wildcard_match(value) is None:
        errors.append(regex_error(_WILDCARD_WORDS, _WILDCARD, "*.example.com"))
    return tuple(errors)


@lru_cache(_CACHED)
def is_qualified_name(value: str) -> Texts:
    """A label key: a name, optionally after a DNS subdomain and a slash."""
    prefix, slash, name = value.partition("/")
    form = regex_error(_KEY_NAME_WORDS, _KEY_NAME, "MyName", "my.name", "123-abc")
    if "/" in name:
        tail = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return ("a valid label key " + form + tail,)
    errors = []
    if not slash:
        name = prefix
    elif not prefix:
        errors.append("prefix part must be non-empty")
    else:
        if byte_length(prefix) > DNS1123_SUBDOMAIN_MAX:
            errors.append("prefix part " + _max_bytes_error(DNS1123_SUBDOMAIN_MAX))
        if _subdomain_match(prefix) is None:
            errors.append("prefix part " + regex_error(_SUBDOMAIN_WORDS, _SUBDOMAIN, "example.com"))
    if not name:
        errors.append("name part must be non-empty")
    elif byte_length(name) > LABEL_KEY_NAME_MAX:
        errors.append("name part " + _max_bytes_error(LABEL_KEY_NAME_MAX))
    if _key_name_match(name) is None:
        errors.append("name part " + form)
    return tuple(errors)


@lru_cache(_CACHED)
def is_label_value(value: str) -> Texts:
    """The value of a label: empty, or up to 63 bytes of a few characters."""
    errors = []
    if byte_length(value) > LABEL_VALUE_MAX:
        errors.append(_max_bytes_error(LABEL_VALUE_MAX))
    if _label_value_match(value) is None:
        errors.append(regex_error(_LABEL_VALUE_WORDS, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return tuple(errors)


def is_c_identifier(value: str) -> Texts:
    """An identifier of the C language."""
    if _c_identifier_match(value) is not None:
        return ()
    return (regex_error(_C_IDENTIFIER_WORDS, _C_IDENTIFIER, "my_name", "MY_NAME", "MyName"),)


@lru_cache(_CACHED)
def is_env_var_name(value: str) -> Texts:
    """The strict form of the name of an environment variable."""
    errors = []
    if _env_var_match(value) is None:
        errors.append(regex_error(_ENV_VAR_WORDS, _ENV_VAR, "my.env-name", "MY_ENV.NAME", "MyEnvName1"))
    errors.extend(_parent_path_errors(value))
    return tuple(errors)


@lru_cache(_CACHED)
def is_relaxed_env_var_name(value: str) -> Texts:
    """Printable ASCII without `=`: what an environment variable may be called today."""
    if not value:
        return ("environment variable name must be non-empty",)
    if all(" " <= ch <= "~" and ch != "=" for ch in value):
        return ()
    return ("a valid environment variable name must consist only of printable ASCII characters other than '='",)


@lru_cache(_CACHED)
def is_config_map_key(value: str) -> Texts:
    """A key of a ConfigMap or Secret: it becomes a file name."""
    errors = []
    if byte_length(value) > DNS1123_SUBDOMAIN_MAX:
        errors.append(max_length_error(DNS1123_SUBDOMAIN_MAX))
    if _config_key_match(value) is None:
        words = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        errors.append(regex_error(words, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    errors.extend(_parent_path_errors(value))
    return tuple(errors)


def _parent_path_errors(value: str) -> list[str]:
    if value == ".":
        return ["must not be '.'"]
    if value == "..":
        return ["must not be '..'"]
    if value.startswith(".."):
        return ["must not start with '..'"]
    return []


def is_http_header_name(value: str) -> Texts:
    """The name of an HTTP header."""
    if _http_header_match(value) is not None:
        return ()
    words = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return (regex_error(words, _HTTP_HEADER, "X-Header-Name"),)


def is_valid_percent(value: str) -> Texts:
    """Digits and a percent sign."""
    if _percent_match(value) is not None:
        return ()
    words = "a valid percent string must be a numeric string followed by an ending '%'"
    return (regex_error(words, _PERCENT, "1%", "93%"),)


def is_http_path(value: str) -> Texts:
    """The characters of an HTTP path, as qualified URLs of drivers and attributes use it."""
    return () if _http_path_match(value) is not None else (regex_error("Invalid path", _HTTP_PATH),)


@lru_cache(_CACHED)
def is_port_name(value: str) -> Texts:
    """An IANA service name: up to 15 bytes with a letter, no double or outer hyphens."""
    errors = []
    if byte_length(value) > 15:
        errors.append(max_length_error(15))
    if _port_charset_match(value) is None:
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if _letter_search(value) is None:
        errors.append("must contain at least one letter (a-z)")
    if "--" in value:
        errors.append("must not contain consecutive hyphens")
    if value and (value[0] == "-" or value[-1] == "-"):
        errors.append("must not begin or end with a hyphen")
    return tuple(errors)


def is_port_number(value: int) -> Texts:
    """A port from 1 to 65535."""
    return () if 1 <= value <= 65535 else (inclusive_range_error(1, 65535),)


def is_path_segment_name(name: str, prefix: bool = False) -> list[str]:
    """A name that can stand in a URL path: the least that every object's name must be."""
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in name]


def name_of_rbac(name: str, prefix: bool = False) -> list[str]:
    """The rule for the names of roles and bindings: prefixes are judged as names."""
    return is_path_segment_name(name)


def any_name(name: str, prefix: bool = False) -> list[str]:
    """The rule of kinds that have none: after all else has been found right, a name must still fit into a path."""
    return []


def _mask_trailing_dash(name: str) -> str:
    """A prefix may end with a hyphen, since a suffix follows."""
    return name[:-2] + "a" if len(name) > 1 and name.endswith("-") else name


def name_is_dns_subdomain(name: str, prefix: bool = False) -> list[str]:
    """The rule for the names of most kinds."""
    return list(is_dns1123_subdomain(_mask_trailing_dash(name) if prefix else name))


def name_is_long_name(name: str, prefix: bool = False) -> list[str]:
    """The rule for names that are declared to be long: the length is told in bytes. Prefixes fit into paths."""
    if prefix:
        return is_path_segment_name(name, prefix)
    return [text.replace("253 characters", "253 bytes") for text in is_dns1123_subdomain(name)]


def name_is_dns_label(name: str, prefix: bool = False) -> list[str]:
    """The rule for the names of namespaces and services."""
    return list(is_dns1123_label(_mask_trailing_dash(name) if prefix else name))


def name_is_dns1035_label(name: str, prefix: bool = False) -> list[str]:
    """The rule for names that become DNS labels starting with a letter."""
    return list(is_dns1035_label(_mask_trailing_dash(name) if prefix else name))

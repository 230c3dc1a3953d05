"""String formats that schemas may name (go-openapi's strfmt, as CRDs have them)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from datetime import date

from watchkeeper.cel.mail_address import is_mail_address
from watchkeeper.cel.regex import compile_pattern
from watchkeeper.cel.times import parse_duration
from watchkeeper.meta.urls import URLError, parse_request_uri

_UUID = r"[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{}[0-9a-f]{{3}}-?{}-?[0-9a-f]{{12}}"
_ANY, _VARIANT = "[0-9a-f]{4}", "[89ab][0-9a-f]{3}"
_HOSTNAME = (
    r"^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)"
    r"|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$"
)
_ASCII_HOSTNAME = re.compile(
    r"[a-zA-Z0-9$+<=>^`|~](-?[a-zA-Z0-9$+<=>^`|~]{0,62})?"
    r"|([a-zA-Z0-9$+<=>^`|~]([a-zA-Z0-9$+<=>^`|~-]{0,61}[a-zA-Z0-9$+<=>^`|~])?\.)+[a-zA-Z]{2,63}"
)
_TIME = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WORDY_DURATION = re.compile(r"(\d+)\s*([A-Za-zµ]+)", re.ASCII)
_DURATION_UNITS = (
    ("ns", "nano"),
    ("us", "µs", "micro"),
    ("ms", "milli"),
    ("s", "sec"),
    ("m", "min"),
    ("h", "hr", "hour"),
    ("d", "day"),
    ("w", "wk", "week"),
)
_MAC = re.compile(
    r"([0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}\2){4}[0-9A-Fa-f]{2}"
    r"|([0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}\4){6}[0-9A-Fa-f]{2}"
    r"|([0-9A-Fa-f]{2}([:-]))(?:[0-9A-Fa-f]{2}\6){18}[0-9A-Fa-f]{2}"
    r"|(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}|(?:[0-9A-Fa-f]{4}\.){3}[0-9A-Fa-f]{4}"
    r"|(?:[0-9A-Fa-f]{4}\.){9}[0-9A-Fa-f]{4}"
    r"|[0-9A-Fa-f]{12}|[0-9A-Fa-f]{16}|[0-9A-Fa-f]{40}"
)
_CREDIT_CARD = re.compile(
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
_BYTE = r"(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])"


def _matches(pattern: str, flags: int = re.ASCII) -> Callable[[str], bool]:
    compiled = re.compile(pattern, flags)
    return lambda text: compiled.fullmatch(text) is not None


def _is_hostname(text: str) -> bool:
    if len(text.encode()) > 255:
        return False
    if text.isascii():
        matched = _ASCII_HOSTNAME.fullmatch(text) is not None
    else:
        matched = compile_pattern(_HOSTNAME).search(text)
    return matched and all(len(part.encode()) <= 63 for part in text.split("."))


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return text.startswith("0000-")
    return True


def _is_datetime(text: str) -> bool:
    parts = text.lower().split("t")
    if len(text) < 4 or len(parts) < 2 or not _is_date(parts[0]):
        return False
    found = _TIME.fullmatch(parts[1])
    return found is not None and found.group(1) <= "23" and found.group(2) <= "59" and found.group(3) <= "59"


def _is_duration(text: str) -> bool:
    try:
        parse_duration(text)
    except ValueError:
        return any(_is_unit(found.group(2).lower()) for found in _WORDY_DURATION.finditer(text))
    return True


def _is_unit(word: str) -> bool:
    return any(word in variants or word.startswith(variants[-1]) for variants in _DURATION_UNITS)


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    if "." in text and ":" not in text:
        text = ".".join(part.lstrip("0") or "0" if part.isdigit() else part for part in text.split("."))
    try:
        return ipaddress.ip_address(text) if "%" not in text else None
    except ValueError:
        return None


def _is_cidr(text: str) -> bool:
    address, slash, length = text.partition("/")
    found = _ip(address)
    if not slash or found is None or not length.isdigit() or not length.isascii():
        return False
    digits = length.lstrip("0")
    return len(digits) <= 3 and int(digits or "0") <= found.max_prefixlen


def _is_isbn10(text: str) -> bool:
    text = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch("[0-9]{9}[0-9X]", text):
        return False
    digits = [10 if ch == "X" else int(ch) for ch in text]
    return sum((i + 1) * d for i, d in enumerate(digits)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    text = re.sub(r"[\s-]+", "", text)
    if not re.fullmatch("[0-9]{13}", text):
        return False
    checksum = sum((1, 3)[i % 2] * int(ch) for i, ch in enumerate(text[:12]))
    return int(text[12]) == (10 - checksum % 10) % 10


def _is_credit_card(text: str) -> bool:
    digits = re.sub("[^0-9]+", "", text)
    if not _CREDIT_CARD.fullmatch(digits):
        return False
    total = 0
    for i, ch in enumerate(reversed(digits)):
        number = int(ch) * (1 + i % 2)
        total += number - 9 if number > 9 else number
    return total % 10 == 0


def _is_uri(text: str) -> bool:
    try:
        parse_request_uri(text)
    except URLError:
        return False
    return True


_CHECKS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matches("[0-9a-fA-F]{24}"),
    "uri": _is_uri,
    "email": is_mail_address,
    "hostname": _is_hostname,
    "ipv4": lambda text: "." in text and _ip(text) is not None,
    "ipv6": lambda text: ":" in text and _ip(text) is not None,
    "cidr": _is_cidr,
    "mac": lambda text: _MAC.fullmatch(text) is not None,
    "uuid": _matches(_UUID.format("[0-9a-f]", _ANY), re.I | re.ASCII),
    "uuid3": _matches(_UUID.format("3", _ANY), re.I | re.ASCII),
    "uuid4": _matches(_UUID.format("4", _VARIANT), re.I | re.ASCII),
    "uuid5": _matches(_UUID.format("5", _VARIANT), re.I | re.ASCII),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": lambda text: len(text) == 11 and re.fullmatch(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}", text) is not None,
    "hexcolor": _matches("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matches(rf"rgb\(\s*{_BYTE}\s*,\s*{_BYTE}\s*,\s*{_BYTE}\s*\)"),
    "byte": _matches(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda _: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_datetime,
    "k8sshortname": lambda text: len(text) <= 63 and re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", text) is not None,
    "k8slongname": lambda text: (
        len(text) <= 253 and all(re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", part) for part in text.split("."))
    ),
}


def format_check(name: str) -> Callable[[str], bool] | None:
    """The check of a format; None for formats that are not known, which check nothing."""
    return _CHECKS.get(name.replace("-", ""))


def is_known_format(name: str, text: str) -> bool:
    """Whether a text has a format. Raises KeyError for formats that are not known."""
    return _CHECKS[name.replace("-", "")](text)

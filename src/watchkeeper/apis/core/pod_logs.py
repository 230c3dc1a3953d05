"""What of a Pod's log is asked for: query parameters as PodLogOptions, and what is wrong with them.

The rules are those of Kubernetes' `ValidatePodLogOptions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from watchkeeper.meta.field import FieldError, forbidden, invalid
from watchkeeper.meta.go_numbers import parse_int
from watchkeeper.runtime.timestamps import canonical_time

Object = dict[str, Any]

_POSITIVE = "must be greater than 0"


def log_options(params: Mapping[str, list[str]]) -> Object:
    """The options that bound a log, as far as they are given. A time that is given empty is the zero time: "".

    Raises ValueError, in Go's words, for the first one that is no number or time, in the order of Go's fields.
    """
    found: Object = {}
    for name, read in _READERS.items():
        if values := params.get(name):
            found[name] = read(values[0])
    return found


def _time(text: str) -> str:
    return "" if text in ("", "null") else canonical_time(text) or ""


_READERS: Mapping[str, Callable[[str], Any]] = {
    "sinceSeconds": parse_int,
    "sinceTime": _time,
    "tailLines": parse_int,
    "limitBytes": parse_int,
    "stream": str,
}


def validate_log_options(options: Object) -> list[FieldError]:
    """What is wrong with options as `log_options` finds them."""
    wrong: list[FieldError] = []
    if options.get("tailLines", 0) < 0:
        wrong.append(invalid("tailLines", options["tailLines"], "must be greater than or equal to 0"))
    if options.get("limitBytes", 1) < 1:
        wrong.append(invalid("limitBytes", options["limitBytes"], _POSITIVE))
    if "sinceSeconds" in options and "sinceTime" in options:
        wrong.append(forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif options.get("sinceSeconds", 1) < 1:
        wrong.append(invalid("sinceSeconds", options["sinceSeconds"], _POSITIVE))
    if "stream" in options:
        wrong.append(forbidden("stream", "may not be specified"))
    return wrong

"""What of a Pod's log is asked for: query parameters as PodLogOptions, and what is wrong with them.

The rules are those of Kubernetes' `ValidatePodLogOptions`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.meta.field import FieldError, forbidden, go_quote, invalid

Object = dict[str, Any]

_NUMBERS = ("tailLines", "limitBytes", "sinceSeconds")
_TEXTS = ("sinceTime", "stream")
_POSITIVE = "must be greater than 0"


def log_options(params: Mapping[str, list[str]]) -> Object:
    """The options that bound a log, as far as they are given.

    Raises ValueError, in the words of Go's strconv, for numbers that are none.
    """
    found: Object = {}
    for name in _NUMBERS:
        if values := params.get(name):
            digits = values[0].removeprefix("-")
            if not (digits.isascii() and digits.isdigit()):
                raise ValueError(f"strconv.ParseInt: parsing {go_quote(values[0])}: invalid syntax")
            found[name] = int(values[0])
    for name in _TEXTS:
        if values := params.get(name):
            found[name] = values[0]
    return found


def validate_log_options(options: Object) -> list[FieldError]:
    """What is wrong with options as `log_options` finds them."""
    wrong: list[FieldError] = []
    if options.get("tailLines", 0) < 0:
        wrong.append(invalid("tailLines", options["tailLines"], "must be greater than or equal to 0"))
    if options.get("limitBytes", 1) < 1:
        wrong.append(invalid("limitBytes", options["limitBytes"], _POSITIVE))
    if "sinceSeconds" in options and options.get("sinceTime"):
        wrong.append(forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif options.get("sinceSeconds", 1) < 1:
        wrong.append(invalid("sinceSeconds", options["sinceSeconds"], _POSITIVE))
    if "stream" in options:
        wrong.append(forbidden("stream", "may not be specified"))
    return wrong

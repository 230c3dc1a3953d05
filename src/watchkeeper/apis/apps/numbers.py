"""Numbers that kinds of apps/v1 carry in annotations, and kube-apiserver's internal types in fields."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta.go_numbers import parse_int
from watchkeeper.runtime.scheme import DecodeError

Object = dict[str, Any]


def settle_number(obj: Object, annotation: str, refusal: str = "{error}") -> None:
    """Write a number in an annotation as the field of the internal type would come out of it.

    Raises DecodeError with `refusal`, which may have the `{text}` and the `{error}` in it, for what is no number.
    """
    annotations = (obj.get("metadata") or {}).get("annotations") or {}
    text = annotations[annotation]
    try:
        number = parse_int(text)
    except ValueError as error:
        raise DecodeError(refusal.format(text=text, error=error)) from None
    if str(number) != text:
        obj["metadata"]["annotations"] = {**annotations, annotation: str(number)}

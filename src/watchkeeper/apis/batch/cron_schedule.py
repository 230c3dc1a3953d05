"""Schedules in cron's syntax, as CronJobs write them: read for what is wrong with them, in the reference's words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from watchkeeper.meta.field import go_quote
from watchkeeper.meta.go_durations import parse_duration
from watchkeeper.meta.time_zones import UnknownTimeZone, find_time_zone


@dataclass(frozen=True, slots=True)
class _Bounds:
    low: int
    high: int
    names: dict[str, int] = field(default_factory=dict)


def _numbered(names: str, first: int) -> dict[str, int]:
    return {name: number for number, name in enumerate(names.split(), first)}


_FIELDS = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, _numbered("jan feb mar apr may jun jul aug sep oct nov dec", 1)),
    _Bounds(0, 6, _numbered("sun mon tue wed thu fri sat", 0)),
)
"""Minute, hour, day of the month, month, day of the week."""

_DESCRIPTORS = frozenset(("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"))
_EVERY = "@every "
_ZONES = ("TZ=", "CRON_TZ=")
_INTEGER = re.compile(r"[+-]?[0-9]+")


class ScheduleError(ValueError):
    """What is wrong with a schedule."""


def check_schedule(text: str) -> None:
    """Raise ScheduleError unless the text is five fields, or a descriptor such as @hourly or @every 5m."""
    if not text:
        raise ScheduleError("empty spec string")
    if text.startswith(_ZONES):
        zone, _, text = text.partition("=")[2].partition(" ")
        try:
            find_time_zone(zone)
        except UnknownTimeZone as problem:
            raise ScheduleError(f"provided bad location {zone}: {problem}") from None
        text = text.strip()
    if text.startswith("@"):
        _check_descriptor(text)
        return
    fields = text.split()
    if len(fields) != len(_FIELDS):
        found = f"{len(fields)}: [{' '.join(fields)}]"
        raise ScheduleError(f"expected exactly {len(_FIELDS)} fields, found {found}")
    for value, bounds in zip(fields, _FIELDS, strict=True):
        for part in filter(None, value.split(",")):
            _check_range(part, bounds)


def is_time_zone(name: str) -> bool:
    """Whether the system's database knows a time zone."""
    try:
        find_time_zone(name)
    except UnknownTimeZone:
        return False
    return True


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise ScheduleError(f"unrecognized descriptor: {text}")
    try:
        parse_duration(text.removeprefix(_EVERY))
    except ValueError as error:
        raise ScheduleError(f"failed to parse duration {text}: {error}") from None


def _check_range(text: str, bounds: _Bounds) -> None:
    """One of the ranges in a field: `*`, `4`, `1-5`, each also with a step after a slash."""
    span, *steps = text.split("/")
    first, *last = span.split("-")
    if first in ("*", "?"):
        low, high = bounds.low, bounds.high
    else:
        low = high = _number_or_name(first, bounds)
        if len(last) == 1:
            high = _number_or_name(last[0], bounds)
        elif last:
            raise ScheduleError(f"too many hyphens: {text}")
    step = 1
    if len(steps) == 1:
        step = _number(steps[0])
        if not last:
            high = bounds.high
    elif steps:
        raise ScheduleError(f"too many slashes: {text}")
    if low < bounds.low:
        raise ScheduleError(f"beginning of range ({low}) below minimum ({bounds.low}): {text}")
    if high > bounds.high:
        raise ScheduleError(f"end of range ({high}) above maximum ({bounds.high}): {text}")
    if low > high:
        raise ScheduleError(f"beginning of range ({low}) beyond end of range ({high}): {text}")
    if not step:
        raise ScheduleError(f"step of range should be a positive number: {text}")


def _number_or_name(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _number(text) if named is None else named


def _number(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        wrong = f"strconv.Atoi: parsing {go_quote(text)}: invalid syntax"
        raise ScheduleError(f"failed to parse int from {text}: {wrong}")
    number = int(text)
    if number < 0:
        raise ScheduleError(f"negative number ({number}) not allowed: {text}")
    return number

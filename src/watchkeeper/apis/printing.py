"""How table cells show things: ages, labels, selectors, containers, booleans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from watchkeeper.apis.behavior import Column
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.instants import since_epoch
from watchkeeper.meta.label_selector import Operator
from watchkeeper.meta.label_selector import requirement as check_requirement

NONE = "<none>"
UNKNOWN = "<unknown>"
UNSET = "<unset>"

NAME = Column(name="Name", type="string", format="name", description="The name, unique within its namespace.")
AGE = Column(name="Age", type="string", description="The time since the object was created.")
CONTAINERS = Column(
    name="Containers", type="string", priority=1, description="Names of each container in the template."
)
IMAGES = Column(
    name="Images", type="string", priority=1, description="Images referenced by each container in the template."
)
SELECTOR = Column(name="Selector", type="string", priority=1, description="Which pods belong to the object.")

_LONGEST = (2**63 - 1) // 10**9
"""Seconds of the longest duration that Go has: all longer ones are that long."""
_MINUTE = 60
_HOUR = 60 * _MINUTE


def human_duration(seconds: float) -> str:
    """A duration in two or three significant figures, such as `5m30s`, `47h` or `2y30d`.

    Up to two seconds in the future count as now, since clocks differ; more than that is `<invalid>`.
    """
    whole = int(max(-_LONGEST, min(seconds, _LONGEST)))
    if whole < 2 * _MINUTE:
        if whole < -1:
            return "<invalid>"
        return f"{max(whole, 0)}s"
    minutes = whole // _MINUTE
    if minutes < 10:
        return _two_parts(minutes, "m", whole % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    hours = whole // _HOUR
    if hours < 8:
        return _two_parts(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    days = hours // 24
    if days < 8:
        return _two_parts(days, "d", hours % 24, "h")
    if days < 365 * 2:
        return f"{days}d"
    if days < 365 * 8:
        return _two_parts(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two_parts(large: int, large_unit: str, small: int, small_unit: str) -> str:
    return f"{large}{large_unit}{small}{small_unit}" if small else f"{large}{large_unit}"


def parse_time(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 time. Raises ValueError."""
    return since_epoch(text).total_seconds()


def since(text: str | None, now: float) -> str:
    """How long ago a time was; `<unknown>` when there is none."""
    return human_duration(now - parse_time(text)) if text else UNKNOWN


def until(text: str | None, now: float) -> str:
    """How far ahead a time is; `<unknown>` when there is none."""
    return human_duration(parse_time(text) - now) if text else UNKNOWN


def age(obj: Mapping[str, Any], now: float) -> str:
    """The time since the object was created."""
    return since((obj.get("metadata") or {}).get("creationTimestamp"), now)


def name_of(obj: Mapping[str, Any]) -> str:
    """The object's name."""
    name: str = (obj.get("metadata") or {}).get("name", "")
    return name


def format_labels(labels: Mapping[str, str] | None) -> str:
    """`a=1,b=2`, in the order of these texts; `<none>` for no labels."""
    return ",".join(sorted(f"{key}={value}" for key, value in labels.items())) if labels else NONE


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A label selector in the syntax of query parameters, by key; "" when it selects everything.

    Raises ValueError on requirements that no labels could be asked for.
    """
    if not selector:
        return ""
    labels = selector.get("matchLabels") or {}
    for key, value in labels.items():
        check_requirement(key, Operator.EQUALS, (value,))
    parts = [(key, f"{key}={value}") for key, value in labels.items()]
    parts += [(r.get("key", ""), _requirement_text(r)) for r in selector.get("matchExpressions") or ()]
    parts.sort(key=lambda part: part[0])
    return ",".join(text for _, text in parts)


def _requirement_text(requirement: Mapping[str, Any]) -> str:
    key: str = requirement.get("key", "")
    operator = _OPERATORS.get(requirement.get("operator", ""))
    if operator is None:
        raise ValueError(f"{go_quote(requirement.get('operator', ''))} is not a valid label selector operator")
    values = requirement.get("values") or ()
    check_requirement(key, operator, values)
    match operator:
        case Operator.EXISTS:
            return key
        case Operator.DOES_NOT_EXIST:
            return f"!{key}"
    return f"{key} {operator.value} ({','.join(sorted(values))})"


_OPERATORS = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.DOES_NOT_EXIST,
}


def format_label_selector(selector: Mapping[str, Any] | None) -> str:
    """A selector for a cell: `<none>` for an empty or absent one, `<error>` for one that is none."""
    try:
        return selector_text(selector) or NONE
    except ValueError:
        return "<error>"


def container_cells(containers: Sequence[Mapping[str, Any]] | None) -> tuple[str, str]:
    """The names and the images of containers, each joined by commas."""
    names = ",".join(c.get("name", "") for c in containers or ())
    images = ",".join(c.get("image", "") for c in containers or ())
    return names, images


def format_bool(value: bool | None) -> str:
    """`True` or `False`, `<unset>` for None."""
    if value is None:
        return UNSET
    return "True" if value else "False"


def list_with_more(items: Sequence[str], *, shown: int, total: int, separator: str = ",") -> str:
    """The first items, and how many more there are: `a,b,c + 2 more...`."""
    text = separator.join(items[:shown])
    return f"{text} + {total - shown} more..." if total > shown else text


def has_condition(conditions: Iterable[Mapping[str, Any]] | None, condition_type: str) -> bool:
    """Whether the first condition of that type is True."""
    for condition in conditions or ():
        if condition.get("type") == condition_type:
            return bool(condition.get("status") == "True")
    return False


def access_modes(modes: Iterable[str] | None) -> str:
    """Access modes of a volume in short: `RWO,ROX`; each once, in a fixed order."""
    present = set(modes or ())
    return ",".join(short for mode, short in _ACCESS_MODES if mode in present)


_ACCESS_MODES = (
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
)

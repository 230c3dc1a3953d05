"""What checks share: the containers of a Pod, and how they are named in messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

Part = Mapping[str, Any]
_NONE: Part = {}


class Violation(NamedTuple):
    """What a Pod breaks: in short, and in detail."""

    reason: str
    detail: str


Check = Callable[[Part, Part], "Violation | None"]
"""(metadata, spec) -> what a Pod breaks, None for nothing."""


def containers(spec: Part) -> Iterator[Part]:
    """All containers: those that initialize, the others, the ephemeral ones."""
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def security(part: Part) -> Part:
    """The security context of a container, or of a Pod's spec."""
    found: Part = part.get("securityContext") or _NONE
    return found


def quoted(items: Iterable[str]) -> str:
    """Items in quotes, separated by commas."""
    return ", ".join(f'"{item}"' for item in items)


def plural(word: str, items: Sequence[Any] | set[Any], many: str = "") -> str:
    """A word in the number that fits."""
    return word if len(items) == 1 else many or f"{word}s"


def named(names: Sequence[str]) -> str:
    """Containers by their names."""
    return f"{plural('container', names)} {quoted(names)}"


def setters(pod: bool, names: Sequence[str]) -> str:
    """Who sets something: the Pod, containers, or both."""
    found = ["pod"] if pod else []
    if names:
        found.append(named(names))
    return " and ".join(found)


def is_windows(spec: Part) -> bool:
    """Whether the Pod says that it runs on Windows."""
    return (spec.get("os") or _NONE).get("name") == "windows"


def in_user_namespace(spec: Part) -> bool:
    """Whether the Pod's users are not those of the host."""
    return spec.get("hostUsers") is False

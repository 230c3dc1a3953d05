"""Warnings about Pods that are there already when a namespace gets stricter."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from watchkeeper.admission.podsecurity.level import LevelVersion
from watchkeeper.admission.podsecurity.standards import in_short, violations

Object = dict[str, Any]

_MOST_PODS = 3000
_SECONDS = 1.0
_STRETCH = 50
"""How many Pods are looked at before others get their turn."""


async def warnings_about(pods: Sequence[Object], namespace: str, enforce: LevelVersion) -> list[str]:
    """What to tell about the Pods of a namespace that break the level that it is going to enforce."""
    ordered = _prioritized(pods)
    end = time.monotonic() + _SECONDS
    names: dict[str, list[str]] = {}
    checked = 0
    for pod in ordered[:_MOST_PODS]:
        found = violations(enforce, pod["metadata"], pod.get("spec") or {})
        if found:
            names.setdefault(in_short(found), []).append(pod["metadata"]["name"])
        checked += 1
        if checked % _STRETCH == 0:
            await asyncio.sleep(0)
            if time.monotonic() > end:
                break
    told: list[str] = []
    if checked < len(ordered):
        words = f"only checked against the first {checked} of {len(ordered)} existing pods"
        told.append(f"new PodSecurity enforce level {words}")
    if names:
        told.append(f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level "{enforce}"')
    return told + sorted(f"{_counted(found)}: {reason}" for reason, found in names.items())


def _prioritized(pods: Sequence[Object]) -> list[Object]:
    """One Pod of each controller first: the others are most likely the same."""
    first: list[Object] = []
    others: list[Object] = []
    seen: set[str] = set()
    for pod in pods:
        owners = pod["metadata"].get("ownerReferences") or ()
        controller = next((owner["uid"] for owner in owners if owner.get("controller")), None)
        if controller is None or controller not in seen:
            first.append(pod)
        else:
            others.append(pod)
        if controller is not None:
            seen.add(controller)
    return first + others


def _counted(names: Sequence[str]) -> str:
    first, more = min(names), len(names) - 1
    if not more:
        return first
    return f"{first} (and {more} other pod{'s' if more > 1 else ''})"

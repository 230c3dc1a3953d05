"""What the options of a watch mean. Shared by the store and the cache in front of it."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.storage.interface import WatchOptions
from watchkeeper.storage.versioner import parse_resource_version


@dataclass(frozen=True, slots=True)
class WatchPlan:
    """`version`: the one asked for, 0 for none in particular. `initial`: begin with the current state as ADDED events.

    `consistent`: begin no earlier than now. `marked`: a bookmark says where the initial events end.
    """

    version: int
    initial: bool
    consistent: bool
    marked: bool


def plan_watch(options: WatchOptions) -> WatchPlan:
    """Work out what is asked for. Raises InvalidRequest.

    Without sendInitialEvents: versions "" and "0" begin with the state at hand, any other goes on from there. With it,
    true begins with the state, at least as new as the version, or as now for ""; false begins from now for "" (from
    what is at hand for "0"), from the version otherwise.
    """
    version = parse_resource_version(options.resource_version)
    wish = options.send_initial_events
    return WatchPlan(
        version,
        initial=wish if wish is not None else version == 0,
        consistent=wish is not None and not options.resource_version,
        marked=bool(wish) and options.bookmarks,
    )

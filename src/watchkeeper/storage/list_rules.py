"""What the options of a list mean: which revision, from which key. Shared by the store and the cache in front of it."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.storage import continue_token
from watchkeeper.storage.errors import InvalidRequest
from watchkeeper.storage.interface import ListOptions, Match
from watchkeeper.storage.versioner import parse_resource_version


@dataclass(frozen=True, slots=True)
class ListPlan:
    """`exact`: the revision to show, 0 for the latest. `minimum`: how old the answer may be at most. `start`: the first
    key to look at, "" for the beginning. `consistent`: the answer must include all writes so far.
    """

    exact: int
    minimum: int
    start: str
    consistent: bool


def plan_list(prefix: str, options: ListOptions) -> ListPlan:
    """Work out what is asked for. Raises InvalidRequest, in the order and words of the reference."""
    if options.continue_token and prefix.endswith("/"):
        start, revision = continue_token.decode(options.continue_token, prefix)
        if options.resource_version not in ("", "0"):
            raise InvalidRequest("specifying resource version is not allowed when using continue")
        exact = max(revision, 0)
        return ListPlan(exact, 0, start, consistent=not exact)
    version = parse_resource_version(options.resource_version)
    if not options.resource_version:
        return ListPlan(0, 0, "", consistent=True)
    if options.match is Match.EXACT:
        return ListPlan(version, version, "", consistent=False)
    if options.match is Match.UNSET and options.limit > 0 and version and prefix.endswith("/"):
        return ListPlan(version, version, "", consistent=False)
    return ListPlan(0, version, "", consistent=False)

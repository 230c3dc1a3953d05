"""Events of the core group and of events.k8s.io are stored together; clients of the latter are held to more rules."""

from __future__ import annotations

from dataclasses import replace

from watchkeeper.apis.events.strict import STRICT_BEHAVIOR
from watchkeeper.registry.rest import Context, Object
from watchkeeper.registry.store import Store, StoreConfig
from watchkeeper.registry.strategy import Strategy
from watchkeeper.storage.interface import ListOptions, ListResult, Match


class EventStrategy(Strategy):
    """Judges an Event by the group that its writer speaks."""

    def __init__(self, plain: Strategy) -> None:
        kind, namespaced, has_status = plain.kind, plain.namespaced, plain.has_status
        super().__init__(kind, plain.behavior, namespaced=namespaced, has_status=has_status)
        self._strict = Strategy(kind, STRICT_BEHAVIOR, namespaced=namespaced, has_status=has_status)

    def before_create(self, ctx: Context, obj: Object) -> None:
        """Prepare and judge a new Event. Raises Invalid."""
        if _is_strict(ctx):
            self._strict.before_create(ctx, obj)
        else:
            super().before_create(ctx, obj)

    def before_update(self, ctx: Context, obj: Object, old: Object, *, settled: bool = False) -> None:
        """Prepare and judge a changed Event. Raises Invalid."""
        if _is_strict(ctx):
            self._strict.before_update(ctx, obj, old, settled=settled)
        else:
            super().before_update(ctx, obj, old, settled=settled)


def _is_strict(ctx: Context) -> bool:
    return ctx.kind is not None and ctx.kind.group == "events.k8s.io"


class EventStore(Store):
    """The store of Events."""

    def __init__(self, config: StoreConfig) -> None:
        config.strategy = EventStrategy(config.strategy)
        super().__init__(config)

    async def list(self, ctx: Context, options: ListOptions) -> ListResult:
        """What the options select, in key order. Any version is the latest: the reference keeps no Events in memory,
        and so has no state at hand that it would give away whole whatever the limit.
        """
        if options.resource_version == "0":
            options = replace(options, resource_version="", match=Match.UNSET)
        return await super().list(ctx, options)

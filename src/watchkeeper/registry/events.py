"""Events of the core group and of events.k8s.io are stored together; clients of the latter are held to more rules."""

from __future__ import annotations

from watchkeeper.apis.events.strict import STRICT_BEHAVIOR
from watchkeeper.registry.rest import Context, Object
from watchkeeper.registry.store import Store, StoreConfig
from watchkeeper.registry.strategy import Strategy


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

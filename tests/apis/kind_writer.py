"""Writes objects of built-in kinds as the registry does, without storage: decoded, defaulted, prepared, judged."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.apis.builtin import builtin_behaviors, builtin_scheme
from watchkeeper.apis.schema_data import resources
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.registry.rest import Context
from watchkeeper.registry.strategy import StatusStrategy, Strategy
from watchkeeper.request.user import User

SCHEME = builtin_scheme()
BEHAVIORS = builtin_behaviors()
RESOURCES = {info.kind: info for info in resources()}
UID = "11111111-2222-3333-4444-555555555555"


@dataclass
class Written:
    """What became of an object, each error as `field: message`, and the warnings."""

    obj: Any
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def gvk_of(obj: Any) -> GroupVersionKind:
    group, _, version = obj["apiVersion"].rpartition("/")
    return GroupVersionKind(group, version, obj["kind"])


def read(body: Any) -> Any:
    """The body as the server reads it: decoded, defaulted, at its hub version."""
    kind = SCHEME.kind(gvk_of(body))
    obj = kind.decode(copy.deepcopy(body), None)
    if kind.default is not None:
        kind.default(obj)
    return kind.to_hub(obj) if kind.to_hub is not None else obj


def _strategy(body: Any, strategy_class: type[Strategy]) -> Strategy:
    hub = SCHEME.kind(gvk_of(body)).hub
    info = RESOURCES[hub]
    has_status = any(s.name == "status" for s in info.subresources)
    return strategy_class(hub, BEHAVIORS.of(hub.group_kind), namespaced=info.namespaced, has_status=has_status)


def _write(work: Any, obj: Any) -> Written:
    warnings: list[str] = []
    errors: list[str] = []
    try:
        work(Context(user=User(name="tester"), namespace="ns", warn=warnings.append))
    except ApiError as error:
        assert error.details is not None
        errors = [f"{cause['field']}: {cause['message']}" for cause in error.details["causes"]]
    return Written(obj, errors, warnings)


def create(body: Any) -> Written:
    """Create an object from a body."""
    obj = read(body)
    meta = obj["metadata"]
    if RESOURCES[SCHEME.kind(gvk_of(body)).hub].namespaced:
        meta.setdefault("namespace", "ns")
    meta.setdefault("uid", UID)
    strategy = _strategy(body, Strategy)

    def work(ctx: Context) -> None:
        strategy.before_create(ctx, obj)
        strategy.complete_new(obj)

    return _write(work, obj)


def created(body: Any) -> Any:
    """A new object that must be valid, as it is stored."""
    written = create(body)
    assert written.errors == []
    return {**written.obj, "metadata": {**written.obj["metadata"], "resourceVersion": "1"}}


def update(old: Any, body: Any) -> Written:
    """Replace an object."""
    return _replace(old, body, Strategy)


def update_status(old: Any, status: Any, metadata: Any = None) -> Written:
    """Replace the status of an object, and send other metadata with it if given."""
    sent = old["metadata"] if metadata is None else metadata
    return _replace(old, {**old, "metadata": sent, "status": status}, StatusStrategy)


def _replace(old: Any, body: Any, strategy_class: type[Strategy]) -> Written:
    obj = read(body)
    for name in ("namespace", "uid", "resourceVersion"):
        if name in old["metadata"]:
            obj["metadata"].setdefault(name, old["metadata"][name])
    strategy = _strategy(body, strategy_class)
    before = copy.deepcopy(old)
    return _write(lambda ctx: strategy.before_update(ctx, obj, before), obj)


def row(obj: Any, now: float = 0.0) -> dict[str, Any]:
    """The cells of an object by the names of their columns."""
    table = BEHAVIORS.of(SCHEME.kind(gvk_of(obj)).hub.group_kind).table
    assert table is not None
    return dict(zip((column.name for column in table.columns), table.cells(obj, now), strict=True))


def pod(name: str = "a", *, metadata: Any = None, **spec: Any) -> Any:
    """A small Pod."""
    containers = [{"name": "main", "image": "registry.example/app:1"}]
    meta = {"name": name, **(metadata or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": containers, **spec}}


def template(**spec: Any) -> Any:
    """A template of pods labeled app=x."""
    return {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "main", "image": "img:1"}], **spec},
    }

"""Small objects for tests of the cache's parts."""

from __future__ import annotations

from watchkeeper.meta import fields, labels
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.storage.cacher.events import CacheEvent
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.interface import Object, StoredObject
from watchkeeper.storage.predicate import SelectionPredicate

ROOT = "/registry/things/"


def node_of(obj: Object) -> dict[str, str]:
    return {"spec.node": obj["spec"].get("node", "")}


CODEC = JsonCodec(GroupVersionKind("", "v1", "Thing"), node_of)


def stored(name: str, revision: int, labels: dict[str, str] | None = None, **spec: object) -> StoredObject:
    """An object under ROOT; `name` may be namespace/name."""
    namespace, _, short = name.rpartition("/")
    obj: Object = {
        "kind": "Thing",
        "apiVersion": "v1",
        "metadata": {"name": short, **({"namespace": namespace} if namespace else {}), "labels": labels or {}},
        "spec": spec,
    }
    return CODEC.stored(ROOT + name, CODEC.encode(obj), revision)


def change(now: StoredObject | None, before: StoredObject | None, revision: int, time: float = 0.0) -> CacheEvent:
    known = now or before
    assert known is not None
    return CacheEvent(known.key, now, before, revision, time)


def by(label: str = "", field: str = "") -> SelectionPredicate:
    return SelectionPredicate(labels.parse(label), fields.parse(field))

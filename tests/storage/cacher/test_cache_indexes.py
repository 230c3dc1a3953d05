"""Indexes of objects, and the index of watchers, against looking at each."""

from __future__ import annotations

from cache_objects import ROOT, by, change, stored
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.storage.cacher.cache_watcher import CacheWatcher
from watchkeeper.storage.cacher.indexes import Indexes
from watchkeeper.storage.cacher.snapshot import Snapshot
from watchkeeper.storage.cacher.watcher_index import WatcherIndex
from watchkeeper.storage.interface import StoredObject

SELECTORS = [
    "app=a",
    "app=b",
    "app=a,tier=x",
    "tier in (y)",
    "tier in (x,y)",
    "app=a,app=b",
    "app=none",
    "app!=a",
    "app",
    "",
]
FIELDS = ["", "spec.node=n1", "spec.node=", "spec.node!=n1", "metadata.name=x"]
OBJECTS = st.tuples(
    st.sampled_from(["n/x", "n/y", "m/x", "z"]),
    st.sampled_from([{}, {"app": "a"}, {"app": "b", "tier": "x"}, {"app": "a", "tier": "y"}]),
    st.sampled_from(["", "n1", "n2"]),
    st.booleans(),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(OBJECTS, max_size=30), st.integers(0, 29))
def test_candidates_include_all_that_is_selected(steps: list[tuple[str, dict[str, str], str, bool]], ask: int) -> None:
    indexes, snapshot = Indexes(("spec.node", "metadata.name")), Snapshot()
    for revision, (name, labels, node, put) in enumerate(steps):
        before = snapshot.get(ROOT + name)
        now = stored(name, revision, labels, node=node) if put else None
        if now is not None:
            snapshot.put(now)
        elif before is not None:
            snapshot.remove(before.key)
        indexes.change(ROOT + name, now, before)
        if revision != ask and revision != len(steps) - 1:
            continue
        for label in SELECTORS:
            for field in FIELDS:
                predicate = by(label, field)
                found = indexes.candidates(predicate, snapshot.all())
                selected = {
                    o.key for o in snapshot.all() if predicate.matches(o.attributes.labels, o.attributes.fields)
                }
                assert found is None or selected <= found <= set(snapshot.keys())
                assert not indexes.decides(predicate) or found == selected


def test_an_index_decides_what_asks_for_nothing_else() -> None:
    indexes = Indexes(("spec.node",))
    decided = [text for text in SELECTORS if indexes.decides(by(text))]
    assert decided == ["app=a", "app=b", "tier in (y)", "tier in (x,y)", "app=none"]
    assert [text for text in FIELDS if indexes.decides(by("", text))] == ["spec.node=n1", "spec.node="]
    assert not indexes.decides(by("app=a", "spec.node=n1"))
    assert not indexes.decides(by("", "spec.node=n1,metadata.name=x"))


def test_only_equalities_of_labels_and_of_indexed_fields_have_an_index() -> None:
    indexes = Indexes(("spec.node",))
    objects = [stored("x", 1, {"app": "a"}, node="n1"), stored("y", 2, {"app": "b"}, node="n1")]
    assert indexes.candidates(by("app!=a"), objects) is None
    assert indexes.candidates(by("", "metadata.name=x"), objects) is None
    assert indexes.candidates(by("app=a"), objects) == {ROOT + "x"}
    assert indexes.candidates(by("", "spec.node=n1"), objects) == {ROOT + "x", ROOT + "y"}
    assert indexes.candidates(by("app=a", "spec.node=n1"), objects) == {ROOT + "x"}


PREFIXES = [ROOT, ROOT + "n/", ROOT + "m/", ROOT + "n/x", ROOT + "z"]


def covers(prefix: str, key: str) -> bool:
    return key.startswith(prefix) if prefix.endswith("/") else key == prefix


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(PREFIXES), st.sampled_from(SELECTORS), st.sampled_from(FIELDS)), max_size=12),
    st.lists(OBJECTS, max_size=10),
    st.data(),
)
def test_every_watcher_that_cares_is_found_once(
    watches: list[tuple[str, str, str]], steps: list[tuple[str, dict[str, str], str, bool]], data: st.DataObject
) -> None:
    index = WatcherIndex(ROOT, frozenset({"spec.node", "metadata.name"}))
    open_watchers: dict[CacheWatcher, tuple[str, str, str]] = {}
    for prefix, label, field in watches:
        predicate = by(label, field)
        watcher = CacheWatcher(None, (), 0, lambda w: None)
        index.add(watcher, prefix, None if predicate.is_empty() else predicate)
        open_watchers[watcher] = (prefix, label, field)
    for watcher in [w for w in open_watchers if data.draw(st.booleans())]:
        index.remove(watcher)
        index.remove(watcher)
        del open_watchers[watcher]
    assert len(index) == len(open_watchers)
    state: dict[str, StoredObject] = {}
    for revision, (name, labels, node, put) in enumerate(steps):
        now, before = stored(name, revision, labels, node=node) if put else None, state.pop(name, None)
        if now is not None:
            state[name] = now
        if now is None and before is None:
            continue
        event = change(now, before, revision)
        told = []
        for group in index.interested(event):
            if event.type_for(group.predicate) is not None:
                told += list(group.watchers)
        expected = {
            watcher
            for watcher, (prefix, label, field) in open_watchers.items()
            if covers(prefix, ROOT + name)
            and event.type_for(None if by(label, field).is_empty() else by(label, field)) is not None
        }
        assert len(told) == len(set(told))
        assert set(told) == expected


def test_an_index_without_watchers_holds_nothing() -> None:
    index = WatcherIndex(ROOT, frozenset({"spec.node"}))
    watchers = [CacheWatcher(None, (), 0, lambda w: None) for _ in range(6)]
    for watcher, predicate in zip(
        watchers, [None, by("app=a"), by("app=b"), by("", "spec.node=n1"), by("app!=a"), by("app=a")], strict=True
    ):
        index.add(watcher, ROOT, predicate)
    assert len(index) == 6
    for watcher in watchers:
        index.remove(watcher)
    assert len(index) == 0
    assert index._buckets == {}

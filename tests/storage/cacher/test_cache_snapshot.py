"""The snapshot store against a plain dict, and the past against copies of it."""

from __future__ import annotations

import random

from cache_objects import ROOT, change, stored
from hypothesis import given, settings
from hypothesis import strategies as st

from watchkeeper.storage.cacher import snapshot as snapshot_module
from watchkeeper.storage.cacher.history import History
from watchkeeper.storage.cacher.past import Past
from watchkeeper.storage.cacher.snapshot import Snapshot
from watchkeeper.storage.interface import StoredObject

NAMES = st.text(alphabet="ab-.0", min_size=1, max_size=4)
KEYS = st.one_of(NAMES, st.tuples(NAMES, NAMES).map("/".join))


def in_order(model: dict[str, StoredObject], start: str = "", end: str = "~") -> list[StoredObject]:
    return [model[key] for key in sorted(model) if start <= key < end]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(KEYS, st.booleans()), max_size=120), st.lists(st.tuples(KEYS, KEYS), max_size=6))
def test_it_is_an_ordered_mapping(operations: list[tuple[str, bool]], ranges: list[tuple[str, str]]) -> None:
    load, snapshot_module._LOAD = snapshot_module._LOAD, 4
    try:
        snapshot, model = Snapshot(), dict[str, StoredObject]()
        for revision, (name, put) in enumerate(operations):
            key = ROOT + name
            if put:
                model[key] = stored(name, revision)
                snapshot.put(model[key])
            elif key in model:
                del model[key]
                snapshot.remove(key)
            assert snapshot.get(key) is model.get(key)
        assert len(snapshot) == snapshot.count() == len(model)
        assert snapshot.keys() == sorted(model)
        assert snapshot.objects() == in_order(model)
        for one, other in ranges:
            start, end = sorted((ROOT + one, ROOT + other))
            expected = in_order(model, start, end)
            assert snapshot.objects(start, end) == expected
            assert snapshot.objects(start, end, 3) == expected[:3]
            assert snapshot.count(start, end) == len(expected)
        again = Snapshot()
        again.replace(model.values())
        assert again.objects() == in_order(model)
        assert all(again.get(key) is obj for key, obj in model.items())
    finally:
        snapshot_module._LOAD = load


def test_thousands_of_keys_stay_in_order_while_they_come_and_go() -> None:
    numbers = list(range(5000))
    random.Random(1).shuffle(numbers)
    snapshot = Snapshot()
    for n in numbers:
        snapshot.put(stored(f"{n % 7}/{n:05}", n))
    for n in numbers[:2500]:
        snapshot.remove(f"{ROOT}{n % 7}/{n:05}")
    left = sorted(f"{ROOT}{n % 7}/{n:05}" for n in numbers[2500:])
    assert snapshot.keys() == left
    in_three = [key for key in left if key.startswith(f"{ROOT}3/")]
    assert [obj.key for obj in snapshot.objects(f"{ROOT}3/", f"{ROOT}30")] == in_three
    assert snapshot.count(f"{ROOT}3/", f"{ROOT}30") == len(in_three)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(KEYS, st.booleans()), min_size=1, max_size=60),
    st.lists(st.tuples(st.integers(0, 60), KEYS, st.integers(1, 8)), max_size=8),
)
def test_the_past_is_what_it_was(operations: list[tuple[str, bool]], looks: list[tuple[int, str, int]]) -> None:
    snapshot, history, model = Snapshot(), History(), dict[str, StoredObject]()
    copies = {0: dict(model)}
    pasts = {0: Past(0, history.position_after(0))}
    for revision, (name, put) in enumerate(operations, 1):
        key = ROOT + name
        before = model.get(key)
        if put:
            model[key] = now = stored(name, revision)
            snapshot.put(now)
            history.append(change(now, before, revision))
        elif before is not None:
            del model[key]
            snapshot.remove(key)
            history.append(change(None, before, revision))
        copies[revision] = dict(model)
        if revision % 7 == 0:
            pasts[revision] = Past(revision, history.position_after(revision))
    for revision, start, limit in looks:
        revision = min(revision, len(operations))
        past = pasts.setdefault(revision, Past(revision, history.position_after(revision)))
        assert past.catch_up(history)
        expected = in_order(copies[revision], ROOT + start, ROOT[:-1] + "0")
        assert past.objects(snapshot, ROOT, ROOT + start, 0) == expected
        assert past.objects(snapshot, ROOT, ROOT + start, limit) == expected[:limit]
        assert past.count(snapshot, ROOT, ROOT + start) == len(expected)


def test_a_past_beyond_the_window_is_not_made_up() -> None:
    history = History(lower=4, upper=4)
    past = Past(0, history.position_after(0))
    for revision in range(1, 4):
        history.append(change(stored("x", revision), None, revision))
    assert past.catch_up(history)
    for revision in range(4, 12):
        history.append(change(stored("x", revision), None, revision))
    assert not past.catch_up(history)

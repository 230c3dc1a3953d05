"""The window of changes grows and shrinks with their rate, and within its bounds of bytes."""

from __future__ import annotations

from cache_objects import change, stored

from watchkeeper.storage.cacher.history import History


def fill(history: History, revisions: range, *, every: float, start: float = 0.0) -> float:
    now = start
    for revision in revisions:
        history.append(change(stored("x", revision), None, revision, now))
        now += every
    return now


def test_it_grows_while_what_it_would_drop_is_fresh() -> None:
    history = History(fresh_seconds=75, lower=10, upper=80)
    fill(history, range(1, 41), every=0.1)
    assert (len(history), history.capacity, history.floor) == (40, 40, 0)


def test_it_stops_growing_at_its_upper_bound() -> None:
    history = History(fresh_seconds=75, lower=10, upper=40)
    fill(history, range(1, 201), every=0.1)
    assert (len(history), history.capacity) == (40, 40)
    assert history.floor == 160
    assert history.last_revision == 200


def test_it_does_not_grow_for_what_is_old() -> None:
    history = History(fresh_seconds=75, lower=10, upper=80)
    fill(history, range(1, 101), every=10)
    assert (len(history), history.capacity) == (10, 10)


def test_it_shrinks_when_at_most_a_quarter_of_it_is_fresh() -> None:
    history = History(fresh_seconds=75, lower=10, upper=80)
    now = fill(history, range(1, 81), every=0.1)
    assert history.capacity == 80
    now = fill(history, range(81, 121), every=3, start=now)  # 25 of these are fresh at a time
    assert history.capacity == 80
    now = fill(history, range(121, 160), every=5, start=now)  # and 15 of these
    assert history.capacity == 40
    fill(history, range(160, 200), every=60, start=now)
    assert history.capacity == 10


def test_the_floor_is_where_a_watch_can_still_begin() -> None:
    history = History(lower=5, upper=5)
    history.reset(100)
    assert history.floor == history.last_revision == 100
    fill(history, range(110, 200, 10), every=100)
    assert history.floor == 140
    assert [event.revision for event in history.since(history.position_after(140))] == [150, 160, 170, 180, 190]
    assert [event.revision for event in history.since(history.position_after(165))] == [170, 180, 190]
    assert history.since(history.position_after(190)) == []


def test_positions_stay_valid_while_older_changes_are_dropped() -> None:
    history = History(lower=50, upper=50)
    fill(history, range(1, 41), every=100)
    position = history.position_after(30)
    fill(history, range(41, 75), every=100, start=1e6)
    assert history.since(position)[0].revision == 31
    assert history.start == history.position_after(24)


def test_superseded_states_are_bounded_in_bytes() -> None:
    before = stored("x", 1, text="x" * 10_000)
    history = History(lower=10, upper=1000, max_bytes=300_000)
    for revision in range(1, 500):
        history.append(change(before, before, revision))
    assert 25 <= len(history) <= 30
    for revision in range(500, 520):
        history.append(change(stored("x", revision, text="x" * 100_000), stored("x", 1, text="x" * 100_000), revision))
    assert len(history) == 10


def test_a_reset_forgets_everything_and_positions_go_on() -> None:
    history = History()
    fill(history, range(1, 10), every=0)
    end = history.end
    history.reset(20)
    assert (len(history), history.floor, history.end) == (0, 20, end)
    fill(history, range(21, 23), every=0)
    assert [event.revision for event in history.since(history.position_after(20))] == [21, 22]

"""The checker finds what it is there to find."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fault_history import Change, History, Outcome, Read, Session, State, Write, check

RED2, RED3, BLUE4 = State("t2", 2, "red"), State("t3", 3, "red"), State("t4", 4, "blue")
END7 = State("t7", 7, "red")
LOG = [
    Change(2, "a", RED2),
    Change(3, "b", RED3),
    Change(4, "a", BLUE4),
    Change(5, "b", None),
    Change(7, "end", END7),
]


def sound() -> History:
    """A history without fault that uses everything."""
    done = Outcome.DONE
    writes = [
        Write("a", 0, 1, done, "t2", revision=2),
        Write("b", 2, 3, done, "t3", revision=3),
        Write("a", 2, 4, Outcome.UNKNOWN, "t4"),
        Write("b", 5, 6, done, deletes=3),
        Write("b", 5, 6, Outcome.REFUSED, deletes=3),
        Write("c", 5, 6, Outcome.UNKNOWN, "t6"),
        Write("c", 5, 6, Outcome.REFUSED, "t8"),
        Write("end", 8, 9, done, "t7", revision=7),
    ]
    reads = [
        Read(3.5, 3.6, {"a": RED2, "b": RED3}, revision=3),
        Read(4.5, 4.6, {"a": BLUE4, "b": RED3}, revision=4),
        Read(4.7, 4.8, {"a": BLUE4}, key="a"),
        Read(6.5, 6.6, {}, key="b"),
        Read(6.5, 6.6, {"a": BLUE4}, revision=6),
        Read(6.5, 6.6, {"a": RED2}, revision=2, consistent=False),
        Read(6.5, 6.6, {"a": BLUE4}, revision=6, consistent=False, minimum=5),
        Read(6.5, 6.6, {"b": RED3}, key="b", consistent=False),
    ]
    sessions = [
        Session("w", 2, frozenset(), [("ADDED", "b", 3), ("MODIFIED", "a", 4), ("BOOKMARK", "", 4)]),
        Session("w", 4, frozenset(), [("DELETED", "b", 5), ("BOOKMARK", "", 6), ("ADDED", "end", 7)]),
        Session("r", 1, frozenset(["red"]), [("ADDED", "a", 2), ("ADDED", "b", 3), ("DELETED", "a", 4)]),
        Session("r", 4, frozenset(["red"]), [("DELETED", "b", 5), ("ADDED", "end", 7)]),
    ]
    return History(writes, reads, sessions)


def test_a_sound_history_is_sound() -> None:
    assert check(sound(), LOG, last=7) == []
    assert str(sound()).startswith("8 writes (4 acknowledged, 2 refused, 2 without an answer), 8 reads, 11 events in 4")


@pytest.mark.parametrize(("watcher", "known"), [("w", True), ("r", False), ("", False)])
def test_a_watcher_knows_what_it_has_listed_itself(watcher: str, known: bool) -> None:
    history = sound()
    history.sessions[1].told.pop()
    history.reads.append(Read(10, 11, {"a": BLUE4, "end": END7}, revision=7, watcher=watcher))
    assert (check(history, LOG, last=7) == []) is known


def add(*records: Write | Read | Session) -> Callable[[History], None]:
    def change(history: History) -> None:
        history.writes += [r for r in records if isinstance(r, Write)]
        history.reads += [r for r in records if isinstance(r, Read)]
        history.sessions += [r for r in records if isinstance(r, Session)]

    return change


def tell(number: int, *told: tuple[str, str, int]) -> Callable[[History], None]:
    def change(history: History) -> None:
        history.sessions[number].told[:] = told

    return change


DONE = Outcome.DONE
FAULTS: dict[str, Callable[[History], None]] = {
    "an acknowledged write is lost": add(Write("a", 9, 10, DONE, "t9", revision=9)),
    "an acknowledged write is at": add(Write("a", 0, 1, DONE, "t4", revision=6)),
    "was acknowledged twice": add(Write("x", 8, 9, DONE, "t7", revision=7)),
    "a refused write happened": add(Write("a", 3, 4, Outcome.REFUSED, "t3")),
    "an acknowledged deletion is lost": add(Write("a", 3, 4, DONE, deletes=4)),
    "was acknowledged 2 times": add(Write("b", 5, 6, DONE, deletes=3)),
    "nobody wrote": lambda history: history.writes.pop(2) and None,
    "nobody deleted": lambda history: history.writes.pop(3) and None,
    "was acknowledged before it began": add(Write("a", 10, 11, DONE, "t2", revision=2)),
    "was known before it began": add(Read(10, 11, {"a": BLUE4}, revision=6)),
    "which was gone at": add(Read(10, 11, {"b": RED3}, key="b")),
    "is not the state of its revision": add(Read(3.5, 3.6, {"a": RED2}, revision=3)),
    "asked for was": add(Read(1, 2, {"a": RED2}, revision=2, consistent=False, minimum=3)),
    "which never was from": add(Read(1, 2, {"a": RED2}, key="a", consistent=False, minimum=4)),
    "told was ('MODIFIED', 'a', 4), due was ('ADDED', 'b', 3)": tell(0, ("MODIFIED", "a", 4)),
    "told was ('ADDED', 'b', 3), due was ('MODIFIED', 'a', 4)": tell(
        0, ("ADDED", "b", 3), ("ADDED", "b", 3), ("MODIFIED", "a", 4)
    ),
    "told was ('MODIFIED', 'a', 4), due was ('DELETED', 'a', 4)": tell(
        2, ("ADDED", "a", 2), ("ADDED", "b", 3), ("MODIFIED", "a", 4)
    ),
    "a bookmark of 4 came before ('MODIFIED', 'a', 4)": tell(0, ("ADDED", "b", 3), ("BOOKMARK", "", 4)),
    "w was never told of revision 7": tell(1, ("DELETED", "b", 5), ("BOOKMARK", "", 7)),
}


@pytest.mark.parametrize("told", FAULTS)
def test_a_fault_is_found(told: str) -> None:
    history = sound()
    FAULTS[told](history)
    assert any(told in found for found in check(history, LOG, last=7)), check(history, LOG, last=7)


@pytest.mark.parametrize(
    ("log", "told"),
    [
        ([*LOG, Change(7, "a", None)], "from revision 7 to 7"),
        ([*LOG[:1], *LOG[2:3], *LOG[1:2], *LOG[3:]], "from revision 4 to 3"),
        ([*LOG, Change(8, "b", None)], "deletes b, which does not exist"),
        ([*LOG, Change(8, "c", State("t3", 8, "red"))], "happened 2 times"),
    ],
)
def test_a_log_that_is_not_in_order_is_found(log: list[Change], told: str) -> None:
    assert any(told in found for found in check(sound(), log)), check(sound(), log)


def test_many_faults_are_counted() -> None:
    history = sound()
    history.writes += [Write("a", 9, 10, DONE, f"lost{n}", revision=100 + n) for n in range(30)]
    assert check(history, LOG)[-1] == "… and 10 more"

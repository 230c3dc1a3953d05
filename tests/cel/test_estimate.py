"""Cost estimates: what a rule may cost, given the sizes that a schema allows."""

import pytest

from watchkeeper.cel import types as t
from watchkeeper.cel.costs import UNLIMITED
from watchkeeper.cel.environment import base_environment
from watchkeeper.cel.estimate import Span

ENV = base_environment().extend({"self": t.map_of(t.STRING, t.list_of(t.STRING))})


def sizes(path: tuple[str, ...]) -> Span | None:
    """Ten keys; lists of up to five texts of up to twenty characters."""
    depth = len(path)
    if depth == 1:
        return Span(0, 10)
    return Span(0, 5) if depth == 2 else Span(0, 20)


@pytest.mark.parametrize(
    ("source", "low", "high"),
    [
        ("true", 0, 0),
        ("1 + 2 == 3", 2, 2),
        ("has(self.a)", 1, 1),
        ("self.a.size() == 1", 4, 4),
        ("self.a.all(x, x.startsWith('abc'))", 3, 28),
        ("self.a.all(x, x.contains('abc'))", 3, 33),
        ("self.all(k, self[k].all(x, x != ''))", 2, 272),
        ("self.a.exists(x, x.matches('^[a-z]+$'))", 3, 58),
    ],
)
def test_an_estimate_spans_the_best_and_the_worst_case(source: str, low: int, high: int) -> None:
    found = ENV.compile(source).estimate(sizes)
    assert found.low == low
    assert found.high == high


def test_a_size_that_nothing_bounds_makes_the_cost_unbounded() -> None:
    program = ENV.compile("self.a.all(x, self.b.all(y, x != y))")
    assert program.estimate(lambda path: None).high == UNLIMITED


@pytest.mark.parametrize(
    ("source", "high"),
    [
        # Five items: each with each of them twice over, and a little more for texts that are put in order.
        ("self.a.distinct().size() == 1", 65),
        ("self.a.sort().size() == 1", 68),
        ("[3, 1, 2].sort() == [1]", 50),
        ("self.a.reverse().size() == 1", 20),
        ("sets.contains(self.a, self.a)", 30),
        ("sets.equivalent(self.a, self.a)", 55),
        ("self.a.slice(1, 3).size() == 1", 17),
        ("lists.range(4).size() == 1", 17),
        ("[[1], [2]].flatten().size() == 1", 45),
    ],
)
def test_functions_that_compare_all_items_cost_the_square_of_their_number(source: str, high: int) -> None:
    assert ENV.compile(source).estimate(sizes).high == high


_LENGTHS = {"@keys": 10, "@values": 100, "long": 1000}
DEEP = base_environment().extend({"self": t.map_of(t.STRING, t.list_of(t.map_of(t.STRING, t.DYN)))})


@pytest.mark.parametrize(
    ("source", "high"),
    [
        # A path of three steps has room for one more, which what is put behind it last takes: k is as long as v.
        ("self.a[0].all(k, k.matches('a'))", 10),
        ("self.a[0].all(k, v, k.matches('a'))", 19),
        ("self.a[0].all(k, v, v.matches('a'))", 19),
        ("self.a.all(x, x.all(k, v, k.matches('a')))", 23),
        # What has been looked at keeps its size; the range of a loop is looked at last.
        ("self.a[0].all(k, v, k + v.long == 'a' || k.matches('a'))", 132),
        ("self.a[0].b.c.all(v, v.q.all(i, w, w == v.long))", 15010),
        ("self.a[0].b.c.all(v, v.long.all(i, w, w == v.q))", 16),
    ],
)
def test_paths_share_their_ends_as_slices_do_in_go(source: str, high: int) -> None:
    def of(path: tuple[str, ...]) -> Span:
        return Span(0, _LENGTHS.get(path[-1], 1))

    assert DEEP.compile(source).estimate(of).high == high

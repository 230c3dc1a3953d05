"""Values are equal by what they hold, hashable, and without room for anything else."""

from __future__ import annotations

import dataclasses

import pytest

from watchkeeper.values import value


@value()
class Point:
    x: int
    y: int = 0


@value(kw_only=True)
class Named:
    name: str


def test_values_are_equal_and_hash_alike_by_their_fields() -> None:
    assert Point(1) == Point(1, 0) != Point(1, 1)
    assert len({Point(1), Point(1, 0), Point(2)}) == 2
    assert repr(Point(1)) == "Point(x=1, y=0)"
    assert dataclasses.replace(Point(1), y=3) == Point(1, 3)


def test_values_have_their_fields_and_nothing_else() -> None:
    with pytest.raises(AttributeError):
        Point(1).z = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        Named("x")  # type: ignore[call-arg]
    assert Named(name="x").name == "x"

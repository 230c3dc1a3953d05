"""Structs of built-in kinds that remember which of their lists and maps were sent empty.

Go tells an empty list from none as long as an object is in memory, and forgets the difference where it encodes one:
JSON leaves either out of most fields, and what is stored does not tell them apart. So an empty list that was sent is no
part of a decoded struct, but whoever reads the field by `get`, to judge it or to show it in an error, is given it.
"""

from __future__ import annotations

import copy
import operator
from collections.abc import Mapping
from typing import Any

import orjson

from watchkeeper.runtime.raw_json import RawJson


class WithEmpties(dict[str, Any]):
    """A struct of which some fields were sent as empty lists or maps.

    As a dict it has what is stored: it is without those fields, or they are None where lists are never left out. `get`
    answers what was sent, as long as nobody sets or removes the field. `copy` and deep copies remember, others do not.
    Structs are equal when they are shown alike (`shown`): null is not an empty list where it can be told in JSON.
    """

    __slots__ = ("_empties",)
    __hash__ = None

    def __init__(self, stored: dict[str, Any], empties: dict[str, Any]) -> None:
        """`empties` has the empty lists and maps by the names of their fields."""
        super().__init__(stored)
        self._empties = empties

    def get(self, name: str, default: Any = None, /) -> Any:
        """What was sent."""
        value = super().get(name)
        if value is None:
            value = self._empties.get(name)
        return value if value is not None or name in self else default

    def shown(self) -> dict[str, Any]:
        """What it is in JSON as long as it is not stored: an empty list shows where null would."""
        return {name: self._empties.get(name) if value is None else value for name, value in self.items()}

    def sent(self) -> dict[str, Any]:
        """All of it."""
        return {**self, **{name: value for name, value in self._empties.items() if self.get(name) is value}}

    def __bool__(self) -> bool:
        return bool(len(self) or self._empties)

    def pop(self, name: str, *default: Any) -> Any:
        """Remove a field, and what was sent in it."""
        found = self._empties.pop(name, None)
        value = super().pop(name, *(default if found is None else (found,)))
        return found if value is None else value

    def __setitem__(self, name: str, value: Any) -> None:
        self._empties.pop(name, None)
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self._empties.pop(name, None)

    def __eq__(self, other: object) -> bool:
        return self.shown() == (other.shown() if isinstance(other, WithEmpties) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def copy(self) -> WithEmpties:
        """A copy that remembers."""
        return WithEmpties(self, self._empties.copy())

    def __copy__(self) -> WithEmpties:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> WithEmpties:
        return WithEmpties(copy.deepcopy(dict(self), memo), copy.deepcopy(self._empties, memo))

    def __repr__(self) -> str:
        return f"{super().__repr__()} without {self._empties}"


def as_sent(struct: Mapping[str, Any]) -> Mapping[str, Any]:
    """All fields of a decoded struct, those with empty lists and maps, too."""
    return struct.sent() if isinstance(struct, WithEmpties) else struct


def remembers_empties(value: Any) -> bool:
    """Whether some struct in a decoded value remembers what was sent empty. Cheap."""
    try:
        orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_SUBCLASS)
    except TypeError:
        return True
    return False


def equal_as_sent(one: Any, other: Any) -> bool:
    """Whether two decoded values are equal if an empty list is not the same as none, which most rules do not care for.

    `other` is what was stored, so it has forgotten all empty lists that need not be shown.
    """
    if one is other:
        return True
    if one != other:
        return False
    if one.__class__ is dict and all(map(operator.is_, one.values(), other.values())):
        return True  # made by a patch that leaves it alone
    try:
        orjson.dumps(one, _without_empties, orjson.OPT_PASSTHROUGH_SUBCLASS)
    except TypeError:
        return False
    return True


def equal_as_stored(one: Any, other: Any) -> bool:
    """Whether two decoded values are equal if an empty list is the same as none, even where it is shown."""
    sort = orjson.OPT_SORT_KEYS
    return bool(one == other) or orjson.dumps(one, option=sort) == orjson.dumps(other, option=sort)


def _without_empties(value: Any) -> dict[str, Any]:
    if value.sent() != dict(value):
        raise TypeError
    return dict(value)


def as_shown(value: Any) -> Any:
    """A decoded value as JSON shows it before it is stored, of plain dicts. The value itself when that is all it is."""
    return _shown(value) if remembers_empties(value) else value


def _shown(value: Any) -> Any:
    if isinstance(value, WithEmpties):
        value = value.shown()
    elif isinstance(value, RawJson):
        value = dict(value)
    if value.__class__ is dict:
        return {name: _shown(each) for name, each in value.items()}
    return [_shown(each) for each in value] if value.__class__ is list else value

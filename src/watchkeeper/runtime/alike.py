"""What objects have in common that are made by the dozen: the Pods of a workload differ in little but their names.

What is found out about a part of an object is remembered by the text of that part, all of it, so it holds for every
part with that text, for ever. Only what depends on nothing else may be remembered.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import orjson

V = TypeVar("V")
Object = dict[str, Any]

_MAX_REMEMBERED = 256
_MAX_BYTES = 16_384
_PATIENCE = 32
"""So many parts in a row that nobody has seen before, and only each sixteenth is looked up from then on."""
_SAMPLE = 16
_MAX_TEXTS = 8
"""So many spellings of specs are compared with a body, the one that was met last first."""
_MAX_SURROUNDINGS = 4
_SPEC = b'"spec":'
EXACT = orjson.OPT_PASSTHROUGH_SUBCLASS
"""Writes only what a text tells all of."""
MARK = "a known spec"
_MARK = orjson.dumps(MARK)
_read_one = json.JSONDecoder().raw_decode


class Memo(Generic[V]):
    """Values by texts, the newest ones. Costs next to nothing where nothing is alike."""

    __slots__ = ("_known", "_patience", "_skipped")

    def __init__(self) -> None:
        self._known: dict[bytes, V] = {}
        self._patience = _PATIENCE
        self._skipped = 0

    def __repr__(self) -> str:
        return f"<Memo of {len(self._known)}>"

    def key(self, *parts: Any) -> bytes | None:
        """The text of some JSON values; None when looking for it is not worth while."""
        if not self._patience:
            self._skipped += 1
            if self._skipped % _SAMPLE:
                return None
        try:
            text = orjson.dumps(parts, option=EXACT)
        except TypeError:  # what is more than its JSON, or numbers and texts that only a lenient reader takes
            return None
        return text if len(text) <= _MAX_BYTES else None

    def get(self, key: bytes) -> V | None:
        """What is known, None for nothing."""
        found = self._known.get(key)
        if found is not None:
            self._patience = _PATIENCE
        elif self._patience:
            self._patience -= 1
        return found

    def add(self, key: bytes, value: V) -> None:
        """Remember something."""
        if len(self._known) >= _MAX_REMEMBERED:
            del self._known[next(iter(self._known))]
        self._known[key] = value


class KnownSpec:
    """A spec as many objects have it."""

    __slots__ = ("fields", "owned", "text")

    def __init__(self, spec: Object) -> None:
        self.text = orjson.dumps(spec, option=EXACT)
        """The spec, decoded and with its defaults."""
        self.fields: dict[str, Any] | None = None
        """The set of fields that who makes it owns in it, once that is known."""
        self.owned: dict[bytes, dict[str, Any]] = {}
        """The same of the whole object, by all else that this depends on."""

    def remember(self, around: bytes, owned: dict[str, Any]) -> None:
        """Add to `owned`."""
        if len(self.owned) >= _MAX_SURROUNDINGS:
            del self.owned[next(iter(self.owned))]
        self.owned[around] = owned


class Recognized(NamedTuple):
    """A body that has a known spec where it names one first: what is known, and the body with a mark in its place.

    The mark is a JSON value as the spec's text is one, and nowhere else in the body (unless escapes spell it). So if
    parsing finds it as the object's spec, the body has the known one there; if not, the text stands somewhere else.
    """

    known: KnownSpec
    rest: bytes


class Specs:
    """The specs of one kind at one version, whose decoding and defaults depend on nothing else in the object."""

    __slots__ = ("_given", "_known", "_texts", "_unused", "default_rest", "key")

    def __init__(self, default_rest: Callable[[Object], None]) -> None:
        """`default_rest` fills in defaults outside of the spec, in place."""
        self.default_rest = default_rest
        self._known: Memo[KnownSpec] = Memo()
        self._given: tuple[Object, KnownSpec] | None = None
        self._texts: list[tuple[bytes, KnownSpec]] = []
        self._unused = 0
        self.key = self._known.key

    def recognize(self, body: bytes) -> Recognized | None:
        """Find a spec in a JSON text by its very bytes, as one client writes them for all objects of a workload."""
        at = _spec_in(body)
        if at < 0:
            return None
        for index, (text, known) in enumerate(self._texts):
            if body.startswith(text, at):
                self._unused = 0
                if index:
                    self._texts.insert(0, self._texts.pop(index))
                rest = b"%b%b%b" % (body[:at], _MARK, body[at + len(text) :])
                return Recognized(known, rest) if rest.count(_MARK) == 1 else None
        return None

    def learn(self, body: bytes, key: bytes, known: KnownSpec) -> None:
        """Remember how a body that repeats no field spells the spec with this text, if it is the first that it names.

        Where that is of no use it is done more and more rarely.
        """
        self._unused += 1
        if self._unused > _PATIENCE and self._unused % _SAMPLE:
            return
        at = _spec_in(body)
        try:
            _, end = _read_one(following := body[at:].decode())
        except ValueError:
            return
        text = following[:end].encode()
        if at < 0 or len(text) > _MAX_BYTES or orjson.dumps((orjson.loads(text),)) != key:
            return
        self._texts.insert(0, (text, known))
        del self._texts[_MAX_TEXTS:]

    def find(self, key: bytes) -> KnownSpec | None:
        """What is known of the spec with this text."""
        return self._known.get(key)

    def give(self, known: KnownSpec) -> Object:
        """A spec of the caller's own, decoded and with its defaults."""
        spec: Object = orjson.loads(known.text)
        self._given = (spec, known)
        return spec

    def add(self, key: bytes, spec: Object) -> None:
        """Remember what became of the spec with this text, without unknown fields, if it has nothing but its JSON."""
        with contextlib.suppress(TypeError):
            self._known.add(key, KnownSpec(spec))

    def known(self, spec: Any) -> KnownSpec | None:
        """What is known of the very spec that was given last, which nobody has changed; for one question."""
        given, self._given = self._given, None
        return given[1] if given is not None and given[0] is spec else None


def _spec_in(body: bytes) -> int:
    """Where the value of the first field called spec may begin, -1 for nowhere."""
    at = body.find(_SPEC)
    if at < 0:
        return -1
    at += len(_SPEC)
    return at + 1 if body.startswith(b" ", at) else at

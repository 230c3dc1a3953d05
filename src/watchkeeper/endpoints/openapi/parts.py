"""What OpenAPI documents are joined from: a part for each resource and each definition, encoded when first needed.

A server may have thousands of custom resources whose parts take milliseconds each. So a document is made in slices
between which requests are answered, and after a change only what has changed is made anew.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from watchkeeper.endpoints.openapi import gnostic, gnostic_v3
from watchkeeper.endpoints.openapi.dialect import Dialect

SLICE_SECONDS = 0.004
"""How long parts are made before others get their turn; what is not large takes a few milliseconds at most."""


@dataclass(frozen=True, slots=True)
class Fragment:
    """The members that a part adds to the paths and to the definitions of a document."""

    paths: bytes
    definitions: bytes


class Part:
    """What one resource, or one definition, adds to documents, in each form that was asked for."""

    __slots__ = ("_forms", "_make", "digest", "is_large")

    def __init__(
        self,
        digest: str,
        make: Callable[[Dialect], tuple[Mapping[str, Any], Mapping[str, Any]]],
        *,
        is_large: bool = False,
    ) -> None:
        """`make` makes paths and definitions in a dialect; `digest` names all that they are made of.

        What is large takes so long that it is made on a thread; `make` must bear that.
        """
        self.digest = digest
        self.is_large = is_large
        self._make = make
        self._forms: dict[str, Fragment] = {}

    def __repr__(self) -> str:
        return f"<Part {self.digest[:8]}: {', '.join(self._forms) or 'not made'}>"

    def form(self, form: Form) -> Fragment | None:
        """The part in a form, if it was made."""
        return self._forms.get(form.name)

    def make(self, form: Form) -> Fragment:
        """The part in a form, made unless it was."""
        found = self._forms.get(form.name)
        if found is None:
            found = self._forms[form.name] = form.encode(*self._make(form.dialect))
        return found


@dataclass(frozen=True, slots=True)
class Form:
    """A dialect and how it is written."""

    name: str
    dialect: Dialect
    encode: Callable[[Mapping[str, Any], Mapping[str, Any]], Fragment]


def _json(paths: Mapping[str, Any], definitions: Mapping[str, Any]) -> Fragment:
    return Fragment(orjson.dumps(paths)[1:-1], orjson.dumps(definitions)[1:-1])


def _protobuf(paths: Mapping[str, Any], definitions: Mapping[str, Any]) -> Fragment:
    return Fragment(gnostic.paths_content(paths), gnostic.definitions_content(definitions))


def _protobuf_v3(paths: Mapping[str, Any], schemas: Mapping[str, Any]) -> Fragment:
    return Fragment(gnostic_v3.paths_content(paths), gnostic_v3.schemas_content(schemas))


V2 = Form("v2", Dialect.V2, _json)
V2_PROTOBUF = Form("v2/protobuf", Dialect.V2, _protobuf)
V3 = Form("v3", Dialect.V3, _json)
V3_PROTOBUF = Form("v3/protobuf", Dialect.V3, _protobuf_v3)


class Workshop:
    """Makes parts, one slice of time after the other however many documents are asked for at once."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self._clock = clock
        self._turn: asyncio.Event | None = None
        """Set when the slice that is being made, or was in this round of the loop, is over."""

    async def make(self, parts_of: Callable[[], Sequence[Part]], form: Form) -> Sequence[Part]:
        """Return what `parts_of` returns, once all of it has been made.

        As long as it returns the same object, nothing has changed; when it does not, what is new is made as well.
        """
        parts = parts_of()
        left = iter(parts)
        while True:
            while self._turn is not None:
                await self._turn.wait()
            if (now := parts_of()) is not parts:
                parts, left = now, iter(now)
            turn = self._turn = asyncio.Event()
            try:
                large = self._make_some(left, form)
                if large is not None:
                    await asyncio.to_thread(large.make, form)
                else:
                    await asyncio.sleep(0)
            finally:
                self._turn = None
                turn.set()
            if parts_of() is parts and all(part.form(form) for part in parts):
                return parts

    def _make_some(self, left: Iterator[Part], form: Form) -> Part | None:
        """Make parts until the slice is over or a large one comes, which is returned."""
        until = self._clock() + SLICE_SECONDS
        for part in left:
            if part.form(form) is None:
                if part.is_large:
                    return part
                part.make(form)
                if self._clock() >= until:
                    break
        return None

"""Reads YAML 1.1 by go-yaml's rules and turns it into JSON values.

Reading goes event by event, so that depth and aliases are bounded before anything is built from them. The reference
parses all of a document, then decodes it, then turns it into JSON: of several faults that of the earliest stage counts.
"""

from __future__ import annotations

import base64
import enum
import math
from collections.abc import Iterable
from typing import Any, Final

import yaml

from watchkeeper.meta.field import go_quote, go_syntax
from watchkeeper.runtime.copying import copied
from watchkeeper.runtime.json_text import MAX_DEPTH
from watchkeeper.runtime.yaml import YamlError
from watchkeeper.runtime.yaml_scalars import resolve

MAX_NODES: Final = 1_000_000
"""How many values a document may have once its aliases are expanded."""

_TAG = "tag:yaml.org,2002:"
_MERGE = object()
_NO_TEXT_WORDS = "unsupported map key of type: %!s(<nil>), key: <nil>, value: {}"


def read_yaml(data: bytes, repeated: list[str] | None = None) -> Any:
    """Read the first document; see `yaml.load_yaml`."""
    try:
        return _Builder(repeated).build(yaml.parse(data, Loader=yaml.CSafeLoader))
    except yaml.MarkedYAMLError as error:
        raise YamlError(f"yaml: {_place(error)}{error.problem}") from None
    except yaml.YAMLError as error:
        reason = getattr(error, "reason", None) or str(error).partition("\n")[0]
        raise YamlError(f"yaml: {reason}") from None


def _place(error: yaml.MarkedYAMLError) -> str:
    """Where go-yaml says that an error is: it counts lines from 0 where it parses and from 1 where it scans."""
    found, begun = error.problem_mark, error.context_mark
    if found is not None and found.line:
        return f"line {found.line + isinstance(error, yaml.scanner.ScannerError)}: "
    return f"line {begun.line}: " if begun is not None and begun.line else ""


class _Stage(enum.IntEnum):
    """When the reference finds a fault that parsing does not find."""

    DECODING = 1
    KEYS = 2
    """Keys become texts, those of the outer mappings first."""
    ENCODING = 3


class _Fault(Exception):
    """A fault that is told only if nothing worse follows; the value is read as another one until then."""

    def __init__(self, stage: _Stage, text: str) -> None:
        super().__init__(text)
        self.stage = stage


class _NoText:
    """A key that is null."""


_NO_TEXT = _NoText()


def _line(event: Any) -> int:
    """The line in which an event begins, from 0."""
    found: int = event.start_mark.line
    return found


def _check_version(event: yaml.DocumentStartEvent) -> None:
    """Refuse a document that says to be of another version than the one that go-yaml reads."""
    if event.version not in (None, (1, 1)):
        line = _line(event)
        raise YamlError(f"yaml: {f'line {line}: ' if line else ''}found incompatible YAML document")


class _Collection:
    """A mapping or sequence that is being read."""

    __slots__ = ("anchor", "fields", "items", "key", "line", "size")

    def __init__(self, anchor: str | None, line: int, *, mapping: bool) -> None:
        self.anchor = anchor
        self.line = line
        self.fields: dict[Any, Any] | None = {} if mapping else None
        self.items: list[Any] = []
        self.key: Any = ...
        self.size = 1


class _Builder:
    """Builds values from events."""

    def __init__(self, repeated: list[str] | None) -> None:
        self._repeated = repeated
        self._open: list[_Collection] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._pending: set[str] = set()
        self._nodes = 0
        self._result: Any = None
        self._faults: list[tuple[_Stage, int, str]] = []
        """(stage, depth, what is wrong) each."""

    def build(self, events: Iterable[Any]) -> Any:
        """The value of the first document; None when there is none."""
        self._read(events)
        if self._faults:
            raise YamlError(min(self._faults, key=lambda fault: fault[:2])[2])
        return self._result

    def _note(self, fault: _Fault) -> None:
        depth = len(self._open) if fault.stage is _Stage.KEYS else 0
        self._faults.append((fault.stage, depth, str(fault)))

    def _read(self, events: Iterable[Any]) -> None:
        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                value = self._scalar(event)
                self._define(event.anchor, value, 1)
                self._add(value, 1, _line(event))
            elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
                self._start(event)
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                self._end()
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                _check_version(event)
            elif isinstance(event, yaml.DocumentEndEvent):
                break

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        try:
            return _scalar(event)
        except _Fault as fault:
            self._note(fault)
            return event.value

    def _start(self, event: Any) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise YamlError(f"yaml: exceeded max depth of {MAX_DEPTH}")
        if event.anchor:
            self._pending.add(event.anchor)
        mapping = isinstance(event, yaml.MappingStartEvent)
        self._open.append(_Collection(event.anchor, _line(event), mapping=mapping))

    def _end(self) -> None:
        done = self._open.pop()
        value: Any = done.items
        if done.fields is not None:
            value = {key: done.fields[key] for key in sorted(done.fields)}
        self._pending.discard(done.anchor or "")
        self._define(done.anchor, value, done.size)
        self._add(value, done.size, done.line)

    def _alias(self, event: Any) -> None:
        if event.anchor in self._pending:
            raise YamlError(f"yaml: anchor '{event.anchor}' value contains itself")
        if event.anchor not in self._anchors:
            raise YamlError(f"yaml: unknown anchor '{event.anchor}' referenced")
        value, size = self._anchors[event.anchor]
        self._nodes += size
        if self._nodes > MAX_NODES:
            raise YamlError("yaml: document contains excessive aliasing")
        self._add(copied(value), size, _line(event))

    def _define(self, anchor: str | None, value: Any, size: int) -> None:
        if anchor:
            self._anchors[anchor] = (copied(value), size)

    def _add(self, value: Any, size: int, line: int) -> None:
        """Put a value where it belongs: at the top, into a sequence, or as a key or a value into a mapping.

        `line` is the one in which it begins, counted from 0.
        """
        if not self._open:
            self._result = None if value is _MERGE else value
            return
        parent = self._open[-1]
        parent.size += size
        if parent.fields is None:
            parent.items.append("<<" if value is _MERGE else value)
        elif parent.key is ...:
            parent.key = value if value is _MERGE else self._key(value)
        else:
            key, parent.key = parent.key, ...
            self._set(parent.fields, key, value, line)

    def _key(self, value: Any) -> Any:
        try:
            return _key(value)
        except _Fault as fault:
            self._note(fault)
            return ""

    def _set(self, fields: dict[Any, Any], key: Any, value: Any, line: int) -> None:
        try:
            if key is _MERGE:
                _merge(fields, value)
                return
            if key is _NO_TEXT:
                raise _Fault(_Stage.KEYS, _NO_TEXT_WORDS.format("<nil>" if value is None else _shown(value)))
        except _Fault as fault:
            self._note(fault)
            return
        if key in fields and self._repeated is not None:
            self._repeated.append(f"line {line + 1}: key {go_quote(key)} already set in map")
        fields[key] = "<<" if value is _MERGE else value


def _merge(fields: dict[Any, Any], value: Any) -> None:
    sources = value if isinstance(value, list) else [value]
    if not all(isinstance(source, dict) for source in sources):
        raise _Fault(_Stage.DECODING, "yaml: map merge requires map or sequence of maps as the value")
    for source in reversed(sources):
        fields.update(source)


def _scalar(event: yaml.ScalarEvent) -> Any:
    tag, text = event.tag, event.value
    if tag is None or tag == "!":
        if not event.implicit[0]:
            return text
        if text == "<<":
            return _MERGE
        return _jsonable(resolve(text), text)
    if tag == _TAG + "binary":
        try:
            return base64.b64decode(text, validate=True).decode(errors="replace")
        except ValueError:
            raise _Fault(_Stage.DECODING, "yaml: !!binary value contains invalid base64 data") from None
    if tag in (f"{_TAG}int", f"{_TAG}float", f"{_TAG}bool", f"{_TAG}null"):
        return _tagged(tag.removeprefix(_TAG), text)
    return text


def _tagged(name: str, text: str) -> Any:
    value = resolve(text)
    if name == "float" and type(value) is int:
        value = float(value)
    wanted = {"int": int, "float": float, "bool": bool, "null": type(None)}[name]
    if type(value) is not wanted:
        raise _Fault(_Stage.DECODING, f"yaml: cannot decode {_kind(value)} `{text}` as a !!{name}")
    return _jsonable(value, text)


def _kind(value: Any) -> str:
    names = {str: "!!str", int: "!!int", float: "!!float", bool: "!!bool"}
    return names.get(type(value), "!!null")


def _jsonable(value: Any, text: str) -> Any:
    """A resolved value as JSON has it: whole floats are written without a point, and some floats not at all."""
    if type(value) is float:
        if math.isnan(value) or math.isinf(value):
            name = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
            raise _Fault(_Stage.ENCODING, f"json: unsupported value: {name}")
        if value.is_integer() and -(2**63) <= value < 2**64:
            return int(value)
    return value


def _key(value: Any) -> str | _NoText:
    """A mapping's key as text. What is wrong with one that is null is told with its value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(value)
    if value is None:
        return _NO_TEXT
    raise _Fault(_Stage.DECODING, f"yaml: invalid map key: {_shown(value)}")


def _shown(value: Any) -> str:
    """A decoded value as Go writes it with %#v."""
    return go_syntax("<<" if value is _MERGE else value, keys="interface {}")

"""Writes JSON values as YAML, byte for byte as the reference does: keys in natural order, quotes only where needed."""

from __future__ import annotations

import functools
import re
from typing import Any

import yaml

from watchkeeper.meta.field import go_float
from watchkeeper.runtime.yaml_scalars import resolve

_TAG = "tag:yaml.org,2002:"
_TEXT = f"{_TAG}str"
_TAGS = {str: _TEXT, int: f"{_TAG}int", float: f"{_TAG}float", bool: f"{_TAG}bool", type(None): f"{_TAG}null"}

_BASE_60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
"""What other readers of YAML 1.1 take for a number."""
_DATE = re.compile(
    r"\d{4}-\d\d?-\d\d?(?:[Tt]\d\d?:\d\d?:\d\d?(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)| \d\d?:\d\d?:\d\d?(?:\.\d+)?)?", re.ASCII
)


class _Dumper(yaml.CSafeDumper):
    """Writes plain what reads back as the same value by go-yaml's rules."""

    def ignore_aliases(self, data: Any) -> bool:
        """Values that occur twice are written twice."""
        return True

    def resolve(self, kind: type[yaml.Node], value: str, implicit: tuple[bool, bool]) -> str:
        """The tag that a node without one has for its readers."""
        if kind is yaml.ScalarNode:
            return _TAGS[type(resolve(value))] if implicit[0] else _TEXT
        return f"{_TAG}seq" if kind is yaml.SequenceNode else f"{_TAG}map"


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text:
        style = "|"
    elif not isinstance(resolve(text), str) or _BASE_60.fullmatch(text) or _DATE.fullmatch(text):
        style = '"'
    return dumper.represent_scalar(_TEXT, text, style=style)


def _represent_float(dumper: yaml.CSafeDumper, value: float) -> yaml.ScalarNode:
    if value.is_integer() and abs(value) < 1e18:
        return dumper.represent_int(int(value))
    return dumper.represent_scalar(f"{_TAG}float", go_float(value))


def _represent_mapping(dumper: yaml.CSafeDumper, fields: dict[str, Any]) -> yaml.MappingNode:
    ordered = sorted(fields.items(), key=lambda item: _NATURAL(item[0]))
    return dumper.represent_mapping(f"{_TAG}map", ordered)


def _in_natural_order(a: str, b: str) -> int:
    """Compare texts so that letters come last, and numbers within them count as numbers."""
    for i, (x, y) in enumerate(zip(a, b, strict=False)):
        if x == y:
            continue
        if x.isalpha() or y.isalpha():
            if x.isalpha() and y.isalpha():
                return -1 if x < y else 1
            return -1 if y.isalpha() else 1
        return _compare_numbers(a, b, i)
    return len(a) - len(b)


def _compare_numbers(a: str, b: str, at: int) -> int:
    """Compare texts that differ from a place on where neither has a letter."""
    lead = ""
    if "0" in (a[at], b[at]) and re.search(r"[1-9][0-9]*$", a[:at]):
        lead = "1"
    first, second = (re.match("[0-9]*", text[at:]) for text in (a, b))
    assert first is not None
    assert second is not None
    numbers = int(lead + first[0] or "0"), int(lead + second[0] or "0")
    if numbers[0] != numbers[1]:
        return numbers[0] - numbers[1]
    if len(first[0]) != len(second[0]):
        return len(first[0]) - len(second[0])
    return -1 if a[at] < b[at] else 1


_NATURAL = functools.cmp_to_key(_in_natural_order)

_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(float, _represent_float)
_Dumper.add_representer(dict, _represent_mapping)


def write_yaml(obj: Any) -> bytes:
    """Write a JSON value; see `yaml.dump_yaml`."""
    found = yaml.dump(obj, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, sort_keys=False)
    # libyaml marks the end of a document that holds a text with blank lines at its end; go-yaml never does.
    text = str(found)
    return (text.removesuffix("...\n") if text.endswith("\n...\n") else text).encode()

"""YAML, as the reference reads and writes it. The parser is loaded with the first use: most clients send JSON.

Much of what comes as YAML is JSON, too (kubectl applies so), and is read as that, which is a hundred times as fast.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from watchkeeper.runtime.json_text import check_depth
from watchkeeper.runtime.repeated import repeats_fields


class YamlError(ValueError):
    """A text that is no YAML, or YAML that no JSON can say."""


def load_yaml(data: bytes, repeated: list[str] | None = None) -> Any:
    """Read the first document as JSON values, fields in the order of their names.

    Where a field is set twice the last one counts; a line for each such field is appended to `repeated`. Raises
    YamlError.
    """
    if data[:1] == b"{" and isinstance(found := _read_json(data), dict):
        return found
    from watchkeeper.runtime.yaml_reader import read_yaml

    return read_yaml(data, repeated)


def _read_json(data: bytes) -> Any:
    """JSON with sorted fields, or None for what must be read as YAML: other texts, and such as set a field twice."""
    try:
        found = orjson.loads(data)
        check_depth(found)
        if repeats_fields(data, found):
            return None
        return _without_whole_floats(orjson.loads(orjson.dumps(found, option=orjson.OPT_SORT_KEYS)))
    except (ValueError, RecursionError):
        return None


def _without_whole_floats(value: Any) -> Any:
    """With 1.0 as 1, in place: YAML makes no difference."""
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, (dict, list, float)):
                value[key] = _without_whole_floats(item)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, (dict, list, float)):
                value[index] = _without_whole_floats(item)
    elif isinstance(value, float) and value.is_integer() and -(2**63) <= value < 2**64:
        return int(value)
    return value


def dump_yaml(obj: Any) -> bytes:
    """Write a JSON value as YAML, fields in the order of their names."""
    from watchkeeper.runtime.yaml_writer import write_yaml

    return write_yaml(obj)


def repeated_text(lines: Iterable[str]) -> str:
    """What strict decoding says of fields that are set twice."""
    return "yaml: unmarshal errors:\n" + "\n".join(f"  {line}" for line in lines)

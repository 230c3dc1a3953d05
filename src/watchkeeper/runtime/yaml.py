"""YAML, as the reference reads and writes it. The parser is loaded with the first use: most clients send JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class YamlError(ValueError):
    """A text that is no YAML, or YAML that no JSON can say."""


def load_yaml(data: bytes, repeated: list[str] | None = None) -> Any:
    """Read the first document as JSON values, fields in the order of their names.

    Where a field is set twice the last one counts; a line for each such field is appended to `repeated`. Raises
    YamlError.
    """
    from watchkeeper.runtime.yaml_reader import read_yaml

    return read_yaml(data, repeated)


def dump_yaml(obj: Any) -> bytes:
    """Write a JSON value as YAML, fields in the order of their names."""
    from watchkeeper.runtime.yaml_writer import write_yaml

    return write_yaml(obj)


def repeated_text(lines: Iterable[str]) -> str:
    """What strict decoding says of fields that are set twice."""
    return "yaml: unmarshal errors:\n" + "\n".join(f"  {line}" for line in lines)

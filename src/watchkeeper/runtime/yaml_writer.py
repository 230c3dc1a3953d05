"""Writes JSON values as YAML that any reader of YAML 1.1 takes for the same values."""

from __future__ import annotations

from typing import Any

import yaml

from watchkeeper.runtime.yaml_scalars import resolve

_TEXT = "tag:yaml.org,2002:str"


class _Dumper(yaml.CSafeDumper):
    """Writes texts so that any reader of YAML 1.1 finds texts."""

    def ignore_aliases(self, data: Any) -> bool:
        """Values that occur twice are written twice."""
        return True


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text:
        style = "|"
    elif not isinstance(resolve(text), str):
        style = "'" if text else '"'
    return dumper.represent_scalar(_TEXT, text, style=style)


_Dumper.add_representer(str, _represent_text)


def write_yaml(obj: Any) -> bytes:
    """Write a JSON value; see `yaml.dump_yaml`."""
    found = yaml.dump(
        obj, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=2**31 - 1, sort_keys=True
    )
    return str(found).encode()

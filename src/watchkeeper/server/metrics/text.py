"""The Prometheus text format, version 0.0.4."""

from __future__ import annotations

import math
from collections.abc import Iterable

from watchkeeper.endpoints.metrics import Family, Labels

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8; escaping=underscores"
_LABEL_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})
_HELP_ESCAPES = str.maketrans({"\\": "\\\\", "\n": "\\n"})


def render(families: Iterable[Family]) -> bytes:
    """All families, by name; samples of families of one name are put together."""
    by_name: dict[str, list[Family]] = {}
    for family in families:
        by_name.setdefault(family.name, []).append(family)
    lines: list[str] = []
    for name, same in sorted(by_name.items()):
        lines.append(f"# HELP {name} {same[0].help.translate(_HELP_ESCAPES)}")
        lines.append(f"# TYPE {name} {same[0].kind}")
        for family in same:
            lines += [f"{name}{s.suffix}{_labels(s.labels)} {_number(s.value)}" for s in family.samples]
    lines.append("")
    return "\n".join(lines).encode()


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{value.translate(_LABEL_ESCAPES)}"' for name, value in labels) + "}"


def _number(value: float) -> str:
    if isinstance(value, int) or value.is_integer():
        return str(int(value))
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)

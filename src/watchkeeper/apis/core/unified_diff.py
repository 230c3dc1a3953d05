"""The difference of two objects, as messages about forbidden changes show it."""

from __future__ import annotations

import difflib
import json
from typing import Any


def unified_diff(old: Any, new: Any) -> str:
    """A unified diff, with three lines of context, of both objects as indented JSON."""
    before, after = (json.dumps(obj, indent=1, sort_keys=True).splitlines(keepends=True) for obj in (old, new))
    lines = list(difflib.unified_diff(before, after, n=3))
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines[2:])

"""The difference of two objects, as messages about forbidden changes show it."""

from __future__ import annotations

import difflib
import json
from typing import Any


def unified_diff(old: Any, new: Any, *, in_order: bool = False) -> str:
    """A unified diff, with three lines of context, of both objects as indented JSON.

    `in_order`: the fields are in the order in which they are to show; else they are sorted.
    """
    texts = (json.dumps(obj, indent=1, sort_keys=not in_order, ensure_ascii=False) for obj in (old, new))
    before, after = (text.splitlines(keepends=True) for text in texts)
    lines = list(difflib.unified_diff(before, after, n=3))
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines[2:])

"""The difference of two objects, as messages about forbidden changes show it."""

from __future__ import annotations

import difflib
import json
from typing import Any

from watchkeeper.meta.field import escape_html


def unified_diff(old: Any, new: Any) -> str:
    """A unified diff, with three lines of context, of both objects as Go indents JSON, with fields as they come."""
    before, after = (_lines(obj) for obj in (old, new))
    return "".join(list(difflib.unified_diff(before, after, n=3))[2:])


def _lines(obj: Any) -> list[str]:
    text = escape_html(json.dumps(obj, indent=1, ensure_ascii=False))
    return [f"{line}\n" for line in text.split("\n")]

"""Reduces Unicode's scripts to ranges of code points, for classes like `\\p{Greek}` in patterns.

Writes `src/watchkeeper/cel/regex/scripts.json.gz` from the package fonttools, which has Unicode's Scripts.txt as data:

    uv run --with fonttools==4.68.0 python tools/reduce_scripts.py

The file maps the name of each script to the first and last code point of each of its ranges, one after another. It has
the scripts that kube-apiserver finds: those of Unicode 15 whose names are one capitalized word. Go's regexp brings a
name into that form before it looks for it, so that no other is ever found.
"""

from __future__ import annotations

import gzip
import importlib
import json
from pathlib import Path

OUTPUT = Path(__file__).parent.parent / "src/watchkeeper/cel/regex/scripts.json.gz"
_UNKNOWN = "Zzzz"
_LAST = 0x10FFFF
_NEWER = frozenset({"Garay", "Jurchen", "Seal", "Sidetic", "Sunuwar", "Todhri"})
"""Scripts of later versions of Unicode."""


def main() -> None:
    """Write the file."""
    scripts = importlib.import_module("fontTools.unicodedata.Scripts")
    ends = [*(start - 1 for start in scripts.RANGES[1:]), _LAST]
    found: dict[str, list[int]] = {}
    for start, end, code in zip(scripts.RANGES, ends, scripts.VALUES, strict=True):
        name = scripts.NAMES[code]
        if code != _UNKNOWN and name == name.capitalize() and "_" not in name and name not in _NEWER:
            found.setdefault(name, []).extend((start, end))
    text = json.dumps(found, sort_keys=True, separators=(",", ":")).encode()
    OUTPUT.write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main()

"""Classes of characters by what Unicode says of them: general categories and scripts."""

from __future__ import annotations

import gzip
import unicodedata
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path

import orjson

from watchkeeper.cel.regex.charset import ANY, MAX_RUNE, Range, Ranges, negate, normalize

_SCRIPTS_FILE = Path(__file__).parent / "scripts.json.gz"
_CASED = ("Lu", "Ll", "Lt")
_CATEGORIES: dict[str, str] = {
    "C": "other",
    "Cc": "control cntrl",
    "Cf": "format",
    "Cn": "unassigned",
    "Co": "privateuse",
    "Cs": "surrogate",
    "L": "letter",
    "LC": "casedletter",
    "Ll": "lowercaseletter",
    "Lm": "modifierletter",
    "Lo": "otherletter",
    "Lt": "titlecaseletter",
    "Lu": "uppercaseletter",
    "M": "mark combiningmark",
    "Mc": "spacingmark",
    "Me": "enclosingmark",
    "Mn": "nonspacingmark",
    "N": "number",
    "Nd": "decimalnumber digit",
    "Nl": "letternumber",
    "No": "othernumber",
    "P": "punctuation punct",
    "Pc": "connectorpunctuation",
    "Pd": "dashpunctuation",
    "Pe": "closepunctuation",
    "Pf": "finalpunctuation",
    "Pi": "initialpunctuation",
    "Po": "otherpunctuation",
    "Ps": "openpunctuation",
    "S": "symbol",
    "Sc": "currencysymbol",
    "Sk": "modifiersymbol",
    "Sm": "mathsymbol",
    "So": "othersymbol",
    "Z": "separator",
    "Zl": "lineseparator",
    "Zp": "paragraphseparator",
    "Zs": "spaceseparator",
}
"""General categories, with their long names as they are compared."""
_CATEGORY_OF = {
    name: category for category, names in _CATEGORIES.items() for name in (category.lower(), *names.split())
}
_IGNORED = str.maketrans("", "", " _-")


def unicode_class(name: str) -> Ranges | None:
    """The characters of a category (L, Lu, Letter) or script (Greek), or Any, ASCII or Assigned; None for other names.

    Names are compared as UTS #18 recommends: without regard to case, blanks, underscores and hyphens. Scripts with
    names of several words are not known, as in Go.
    """
    return _class(name.translate(_IGNORED).lower())


@cache
def _class(name: str) -> Ranges | None:
    if name == "any":
        return ANY
    if name == "ascii":
        return ((0, 0x7F),)
    if name == "assigned":
        return negate(_of_category("Cn"))
    category = _CATEGORY_OF.get(name)
    return _of_category(category) if category is not None else _scripts().get(name)


def _of_category(category: str) -> Ranges:
    wanted = _CASED if category == "LC" else (category,)
    return normalize(each for name, ranges in _by_category().items() if name.startswith(wanted) for each in ranges)


@cache
def _by_category() -> dict[str, list[Range]]:
    """The ranges of each category of two letters."""
    found: dict[str, list[Range]] = {}
    begin = 0
    for category, run in groupby(map(unicodedata.category, map(chr, range(MAX_RUNE + 1)))):
        end = begin + sum(1 for _ in run)
        found.setdefault(category, []).append((begin, end - 1))
        begin = end
    return found


@cache
def _scripts() -> dict[str, Ranges]:
    """What `tools/reduce_scripts.py` has written, by names as they are compared."""
    named: dict[str, list[int]] = orjson.loads(gzip.decompress(_SCRIPTS_FILE.read_bytes()))
    return {name.lower(): normalize(list(pairwise(ends))[::2]) for name, ends in named.items()}

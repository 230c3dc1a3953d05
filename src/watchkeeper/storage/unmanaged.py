"""Objects without their managedFields: half of what parsing an object costs is the record of who owns which field.

Whoever fills a cache looks at labels and a few fields of every object. The record is one array in the metadata, and in
the canonical encoding (`storage.codec`) the object's name follows it. So it can be cut out of the bytes, and what is
left is parsed. Everything that is not plainly so is left to a parser that reads the whole.
"""

from __future__ import annotations

from typing import Any

import orjson

Object = dict[str, Any]

_METADATA = b'"metadata":{'
_BEGIN = b',"managedFields":['
_END = b'],"name":"'


def without_managed_fields(tail: bytes) -> Object | None:
    """The object whose encoding from `"metadata":{` on is `tail`, without kind, apiVersion and managedFields.

    None when it has none, or when they are not where this program writes them. The record itself is not looked at,
    but for whether its braces match.

    In JSON text, `"managedFields":[` and `],"name":"` cannot be part of a string, in which quotes are escaped. What is
    before the cut must be the beginning of the metadata (its members make an object) and what is behind it must go on
    there (else the brackets of the rest would not match), so nothing but members of the metadata is taken out; and as
    no name came before, the one behind is the object's own.
    """
    begin = tail.find(_BEGIN)
    if begin < 0:
        return None
    end = tail.find(_END, begin)
    if end < 0 or tail.count(b"{", begin, end) != tail.count(b"}", begin, end):
        return None
    try:
        first = orjson.loads(b"{%b}" % tail[len(_METADATA) : begin])
        rest: Object = orjson.loads(b"{%b%b" % (_METADATA, tail[end + 2 :]))
    except orjson.JSONDecodeError:
        return None
    if "name" in first:
        return None
    first.update(rest["metadata"])
    rest["metadata"] = first
    return rest

"""Container image references, as far as defaults depend on them."""

from __future__ import annotations

import re
from functools import lru_cache

_COMPONENT = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
_HOST = rf"(?:{_COMPONENT}(?:\.{_COMPONENT})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
_PATH = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_TAG = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST = "[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}"

_reference = re.compile(rf"(?:{_HOST}/)?({_PATH}(?:/{_PATH})*)(?::({_TAG}))?(?:@({_DIGEST}))?").fullmatch
_bare_id = re.compile("[a-f0-9]{64}").fullmatch
_lower_hex = re.compile("[a-f0-9]*").fullmatch

_MAX_PATH = 255
_LIBRARY = len("library/")
"""What the path of an image without one begins with."""
_DIGEST_LENGTHS = {"sha256": 64, "sha384": 96, "sha512": 128}


@lru_cache(4096)
def image_tag(image: str) -> str:
    """The tag of an image; `latest` when it has neither tag nor digest, "" when malformed or by digest only."""
    found = _reference(image)
    if found is None or _bare_id(image) is not None:
        return ""
    path, tag, digest = found.groups()
    library = _LIBRARY if "/" not in image else 0
    if len(path) + library > _MAX_PATH or (digest and not _is_known_digest(digest)):
        return ""
    return tag or ("" if digest else "latest")


def _is_known_digest(digest: str) -> bool:
    algorithm, _, encoded = digest.partition(":")
    return len(encoded) == _DIGEST_LENGTHS.get(algorithm) and _lower_hex(encoded) is not None


def default_pull_policy(image: str) -> str:
    """When to pull an image if nobody says: always for `latest`, else only when it is absent."""
    return "Always" if image_tag(image) == "latest" else "IfNotPresent"

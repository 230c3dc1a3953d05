"""Generated names: a prefix and five characters that spell no words."""

from __future__ import annotations

import secrets

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIX_LENGTH = 5
_MAX_NAME_LENGTH = 63
_MAX_BASE_LENGTH = _MAX_NAME_LENGTH - _SUFFIX_LENGTH


def generate_name(base: str) -> str:
    """A name that begins with `base`, cut so that the whole is a DNS label."""
    suffix = "".join(secrets.choice(_ALPHABET) for _ in range(_SUFFIX_LENGTH))
    return base[:_MAX_BASE_LENGTH] + suffix

"""Which keys a storage may be asked for."""

from __future__ import annotations

from watchkeeper.storage.errors import InvalidRequest


def check_key(key: str, root: str) -> None:
    """Raise InvalidRequest for a key outside of `root` (ends with `/`) or with `.` or `..` as a part of its path.

    A key that ends with `/` names a collection, any other one object; so `…/a` never includes `…/a-b`.
    """
    if not key.startswith(root):
        raise InvalidRequest(f'invalid key: "{key}" lacks resource prefix: "{root}"')
    # Names with dots are common, such parts are not; look closer only where there may be one.
    if "/." in key and any(part in (".", "..") for part in key.split("/")):
        raise InvalidRequest(f'invalid key: "{key}"')

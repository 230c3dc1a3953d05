"""The keys of service account tokens: one's own is made at its first use and kept in the data directory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from watchkeeper.server.errors import StartupError
from watchkeeper.server.files import write_private

if TYPE_CHECKING:
    from watchkeeper.authn.service_account_keys import PrivateKey, PublicKey, TokenKeys

R = TypeVar("R")

FILE = "service-account.key"


def service_account_keys(
    directory: Path, given: Path | None = None, others: Sequence[Path] = (), *, checked: bool = True
) -> Callable[[], TokenKeys]:
    """A function that gives the keys: what signs is in the file that is given, else in the directory.

    Those in `others`, and what belongs to the signing one, are what tokens are recognized by. Raises StartupError for
    files that do not hold such keys, unless the signing one is not to be `checked`.
    """
    path = given or directory / FILE
    public = [_checked(functools.partial(_public_keys, file), f"--service-account-key-file {file}") for file in others]

    @functools.cache
    def load() -> TokenKeys:
        from watchkeeper.authn.service_account_keys import TokenKeys

        signing = _own_key(path) if given is None else _private_key(path)
        return TokenKeys(signing, chain.from_iterable(public))

    # To load it takes a while, so what looks as this program writes it is believed until it is needed.
    if checked and (given is not None or not _looks_right(path)):
        _checked(load, str(path) if given is None else f"--service-account-signing-key-file {given}")
    return load


def _looks_right(path: Path) -> bool:
    try:
        found = path.read_bytes()
    except OSError:
        return not path.exists()
    return found.startswith(b"-----BEGIN PRIVATE KEY-----\n") and found.endswith(b"\n-----END PRIVATE KEY-----\n")


def _own_key(path: Path) -> PrivateKey:
    """The key in a file, which is made, for its owner alone, when there is none."""
    try:
        return _private_key(path)
    except FileNotFoundError:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        write_private(path, pem)
        return key


def _private_key(path: Path) -> PrivateKey:
    from watchkeeper.authn.service_account_keys import read_private_key

    return read_private_key(path.read_bytes())


def _public_keys(path: Path) -> list[PublicKey]:
    from watchkeeper.authn.service_account_keys import read_public_keys

    return read_public_keys(path.read_bytes())


def _checked(read: Callable[[], R], what: str) -> R:
    try:
        return read()
    except OSError as error:
        raise StartupError(f"{what}: {error.strerror}") from error
    except ValueError as error:
        raise StartupError(f"{what}: {error}") from error

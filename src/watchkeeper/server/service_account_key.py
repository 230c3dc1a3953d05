"""The key that signs service account tokens: made at its first use, kept in the data directory for its owner alone."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from watchkeeper.server.errors import StartupError
from watchkeeper.server.files import write_private

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

FILE = "service-account.key"


def service_account_key(
    directory: Path, given: Path | None = None, *, checked: bool = True
) -> Callable[[], EllipticCurvePrivateKey]:
    """A function that gives the key: that of a file that is given, else the directory's own.

    Raises StartupError for a file that holds no such key, unless it is not to be `checked`.
    """
    path = given or directory / FILE

    @functools.cache
    def load() -> EllipticCurvePrivateKey:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        try:
            key = serialization.load_pem_private_key(path.read_bytes(), None)
        except FileNotFoundError:
            if given is not None:
                raise
            key = ec.generate_private_key(ec.SECP256R1())
            pem = key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            write_private(path, pem)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError(f"{path} holds no elliptic curve key")
        return key

    # To load it takes a while, so what looks as this program writes it is believed until it is needed.
    if checked and (given is not None or not _looks_right(path)):
        _check(load, str(path) if given is None else f"--service-account-signing-key-file {given}")
    return load


def _looks_right(path: Path) -> bool:
    try:
        found = path.read_bytes()
    except OSError:
        return not path.exists()
    return found.startswith(b"-----BEGIN PRIVATE KEY-----\n") and found.endswith(b"\n-----END PRIVATE KEY-----\n")


def _check(load: Callable[[], object], what: str) -> None:
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        load()
    except OSError as error:
        raise StartupError(f"{what}: {error.strerror}") from error
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise StartupError(f"{what}: it holds no elliptic curve key") from error

"""Tells clients in handshakes whose certificates are accepted, as kube-apiserver does.

Those with several certificates choose by that, browsers and Java's among them. Python's ssl has no call for it,
so that of OpenSSL is called, in the very library that `_ssl` is linked with.
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ctypes

_TRIED = ((3, 11), (3, 12), (3, 13))
"""Versions of CPython in whose contexts OpenSSL's is known to come first. Elsewhere a guess could end the process."""


def name_authorities(context: ssl.SSLContext, files: Sequence[Path]) -> None:
    """Name the authorities of files that the context has loaded. Does nothing where OpenSSL cannot be reached."""
    library = _openssl()
    if library is None:
        return
    import ctypes

    # The first member of Python's object is OpenSSL's.
    native = ctypes.c_void_p.from_address(id(context) + object.__basicsize__)
    if names := library.SSL_load_client_CA_file(bytes(files[0])):
        for path in files[1:]:
            library.SSL_add_file_cert_subjects_to_stack(names, bytes(path))
        # The context owns the names from here on.
        library.SSL_CTX_set_client_CA_list(native, names)
    library.ERR_clear_error()


def _openssl() -> ctypes.CDLL | None:
    """OpenSSL as `_ssl` has it, None where that is built into the interpreter or nobody has tried."""
    if sys.implementation.name != "cpython" or sys.version_info[:2] not in _TRIED:
        return None
    import ctypes  # of use only where clients show certificates

    extension = getattr(import_module("_ssl"), "__file__", None)
    if extension is None:
        return None
    try:
        library = ctypes.CDLL(extension)
        library.SSL_load_client_CA_file.argtypes = (ctypes.c_char_p,)
        library.SSL_load_client_CA_file.restype = ctypes.c_void_p
        library.SSL_add_file_cert_subjects_to_stack.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
        library.SSL_CTX_set_client_CA_list.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        library.SSL_CTX_set_client_CA_list.restype = None
        library.ERR_clear_error.restype = None
    except (OSError, AttributeError):
        return None
    return library

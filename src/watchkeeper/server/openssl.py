"""OpenSSL as Python's ssl has it, for what that has no call for."""

from __future__ import annotations

import functools
import ssl
import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ctypes

_TRIED = ((3, 11), (3, 12), (3, 13), (3, 14))
"""Versions of CPython in whose contexts OpenSSL's is known to come first, with the interpreter's lock. Elsewhere a
guess could end the process."""


@functools.cache
def openssl() -> ctypes.CDLL | None:
    """The very library that `_ssl` is linked with; None where it is built into Python or nobody has tried."""
    if sys.implementation.name != "cpython" or sys.version_info[:2] not in _TRIED or "t" in sys.abiflags:
        return None
    import ctypes

    extension = getattr(import_module("_ssl"), "__file__", None)
    if extension is None:
        return None
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    try:
        library = ctypes.CDLL(extension)
        for name, result, arguments in (
            ("ERR_clear_error", None, ()),
            ("EVP_sha256", pointer, ()),
            ("SSL_CTX_set_ciphersuites", number, (pointer, text)),
            ("SSL_CTX_set_cert_verify_callback", None, (pointer, pointer, pointer)),
            ("SSL_CTX_set_client_CA_list", None, (pointer, pointer)),
            ("SSL_add_file_cert_subjects_to_stack", number, (pointer, text)),
            ("SSL_load_client_CA_file", pointer, (text,)),
            ("X509_STORE_CTX_get0_cert", pointer, (pointer,)),
            ("X509_STORE_CTX_set0_verified_chain", None, (pointer, pointer)),
            ("X509_STORE_CTX_set_error", None, (pointer, number)),
            ("X509_digest", number, (pointer, pointer, text, pointer)),
            ("X509_verify_cert", number, (pointer,)),
        ):
            function = library[name]
            function.restype, function.argtypes = result, arguments
            setattr(library, name, function)
    except (OSError, AttributeError):
        return None
    return library


def native(context: ssl.SSLContext) -> ctypes.c_void_p:
    """OpenSSL's own context, the first member of Python's object. To be asked only where there is `openssl()`."""
    import ctypes

    return ctypes.c_void_p.from_address(id(context) + object.__basicsize__)


_CIPHER_SUITES = b"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
_PRIORITIZE_CHACHA = 1 << 21
"""SSL_OP_PRIORITIZE_CHACHA, which `ssl` does not name."""


def prefer_fast_ciphers(context: ssl.SSLContext) -> None:
    """Have a server of TLS 1.3 choose AES with short keys, as Go's does, whatever clients offer first.

    But ChaCha for those that want that most: they have no AES in hardware. Does nothing where OpenSSL cannot be
    reached.
    """
    library = openssl()
    if library is not None and library.SSL_CTX_set_ciphersuites(native(context), _CIPHER_SUITES):
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE | _PRIORITIZE_CHACHA

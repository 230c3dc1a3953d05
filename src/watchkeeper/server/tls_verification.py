"""Lets clients connect whose certificates nobody accepts, as kube-apiserver does.

They may have a token as well; if not, they are answered 401, which says more than a connection that is cut off.
What OpenSSL found wrong is left out of the connection: its certificate has no verified chain, and so no authority.
"""

from __future__ import annotations

import functools
import itertools
import logging
import ssl
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING

from watchkeeper.server.http.peer import Authorities
from watchkeeper.server.openssl import native, openssl

if TYPE_CHECKING:
    import ctypes

log = logging.getLogger(__name__)

_DIGEST_BYTES = 32
_VERIFIED = 1
_numbers = itertools.count(1)
_of_contexts: weakref.WeakValueDictionary[int, Authorities] = weakref.WeakValueDictionary()
"""By the number that a context has its callback called with."""


def can_tell_unverified() -> bool:
    """Whether OpenSSL can be reached here."""
    return openssl() is not None


def let_unverified_in(context: ssl.SSLContext, authorities: Authorities) -> None:
    """Have handshakes go on whatever certificate a client shows; `authorities` is told which one does not hold.

    As long as `authorities` lives: afterwards such handshakes fail. Does nothing where OpenSSL cannot be reached.
    """
    library = openssl()
    if library is None:
        return
    number = next(_numbers)
    _of_contexts[number] = authorities
    library.SSL_CTX_set_cert_verify_callback(native(context), _callback(), number)


@functools.cache
def _callback() -> ctypes._FuncPointer:
    """What OpenSSL calls. It is kept as long as the process lives, because contexts know no more than its address."""
    import ctypes

    return ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(_verify)


def _verify(store: int, number: int) -> int:
    try:
        return _judge(store, number)
    except BaseException as error:
        # To OpenSSL, a callback that raises has answered whatever was in the memory for that, such as that all is well.
        with suppress(BaseException):
            log.error("a client's certificate could not be judged: %r", error)
        return 0


def _judge(store: int, number: int) -> int:
    library = openssl()
    assert library is not None
    if library.X509_verify_cert(store) == _VERIFIED:
        return 1
    # First of all: whatever comes after this, nobody must take it for verified.
    library.X509_STORE_CTX_set0_verified_chain(store, None)
    import ctypes

    authorities = _of_contexts.get(number)
    certificate = library.X509_STORE_CTX_get0_cert(store)
    digest = ctypes.create_string_buffer(_DIGEST_BYTES)
    if (
        authorities is None
        or not certificate
        or not library.X509_digest(certificate, library.EVP_sha256(), digest, None)
    ):
        return 0
    authorities.forget(digest.raw.hex())
    library.X509_STORE_CTX_set_error(store, 0)
    library.ERR_clear_error()
    return 1

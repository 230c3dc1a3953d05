"""Tells clients in handshakes whose certificates are accepted, as kube-apiserver does.

Those with several certificates choose by that, browsers and Java's among them.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path

from watchkeeper.server.openssl import native, openssl


def name_authorities(context: ssl.SSLContext, files: Sequence[Path]) -> None:
    """Name the authorities of files that the context has loaded. Does nothing where OpenSSL cannot be reached."""
    library = openssl()
    if library is None:
        return
    if names := library.SSL_load_client_CA_file(bytes(files[0])):
        for path in files[1:]:
            library.SSL_add_file_cert_subjects_to_stack(names, bytes(path))
        # The context owns the names from here on.
        library.SSL_CTX_set_client_CA_list(native(context), names)
    library.ERR_clear_error()

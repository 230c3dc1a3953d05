"""HTTPS servers on loopback, for tests of what calls others: each answers as its handler says."""

from __future__ import annotations

import http.server
import ssl
import threading
from pathlib import Path
from typing import Any


class HttpsServer(http.server.ThreadingHTTPServer):
    """Serves with the certificate in a folder until it is closed, and tells nobody what it is asked."""

    def __init__(self, folder: Path, handler: type[http.server.BaseHTTPRequestHandler]) -> None:
        class Quiet(handler):  # type: ignore[valid-type, misc]
            def log_message(self, *_: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Quiet)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "server.crt", folder / "server.key")
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()

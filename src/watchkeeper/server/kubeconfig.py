"""The kubeconfig that a server writes for its administrator."""

from __future__ import annotations

import base64
import json
from pathlib import Path

from watchkeeper.server.files import write_private

NAME = "watchkeeper"


def render_kubeconfig(url: str, token: str, ca_pem: bytes = b"", namespace: str = "default") -> bytes:
    """A kubeconfig with one cluster, one user, one context. It is JSON, which is YAML too."""
    cluster: dict[str, str] = {"server": url}
    if ca_pem:
        cluster["certificate-authority-data"] = base64.b64encode(ca_pem).decode()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": cluster}],
        "users": [{"name": NAME, "user": {"token": token}}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": namespace}}],
        "current-context": NAME,
    }
    return json.dumps(config, indent=2).encode() + b"\n"


def write_kubeconfig(path: Path, url: str, token: str, ca_pem: bytes = b"") -> None:
    """Write it for its owner alone. Raises StartupError."""
    write_private(path, render_kubeconfig(url, token, ca_pem))

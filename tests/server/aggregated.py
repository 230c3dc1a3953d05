"""Another API server behind an APIService, for tests: its certificates, its kinds, and what the front is told of it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from watchkeeper.testing import Server
from watchkeeper.testing.etcd_certificates import make_certificates
from watchkeeper.testing.handle import Handle

APISERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
SERVICES = "/api/v1/namespaces/default/services"
GROUP = "far.io"
NAME = f"v1.{GROUP}"
LAMPS = f"/apis/{GROUP}/v1/namespaces/default/lamps"
HEADERS: dict[str, Any] = {
    "requestheader_username_headers": ("X-Remote-User",),
    "requestheader_uid_headers": ("X-Remote-Uid",),
    "requestheader_group_headers": ("X-Remote-Group",),
    "requestheader_extra_headers_prefix": ("X-Remote-Extra-",),
}


def make_folder(folder: Path) -> Path:
    """Write certificates and a definition of lamps."""
    make_certificates(folder, "far.default.svc")
    schema = {
        "type": "object",
        "description": "A lamp far away.",
        "properties": {
            "spec": {"type": "object", "properties": {"color": {"type": "string", "description": "Its hue."}}}
        },
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"lamps.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "lamps", "singular": "lamp", "kind": "Lamp", "shortNames": ["lp"]},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    (folder / "crds").mkdir()
    (folder / "crds" / "lamps.json").write_text(json.dumps(definition))
    return folder


@contextmanager
def far_server(folder: Path, **options: Any) -> Iterator[Handle]:
    """The server that serves lamps, and believes front proxies."""
    given = {
        "tls_cert": folder / "server.crt",
        "tls_key": folder / "server.key",
        "requestheader_client_ca_file": folder / "ca.crt",
        "crds": folder / "crds",
        "authorization": "AlwaysAllow",
        "controllers": (),
        **HEADERS,
        **options,
    }
    with Server(**given) as running:
        yield Handle(running.url, running.token, running.kubeconfig, (folder / "ca.crt").read_text())


def front_options(folder: Path) -> dict[str, Any]:
    """What the server is told that passes requests on."""
    shown = {"proxy_client_cert_file": folder / "client.crt", "proxy_client_key_file": folder / "client.key"}
    return {**shown, "controllers": ()}


def external_service(name: str = "far", host: str = "localhost") -> dict[str, Any]:
    """A Service that stands for a name."""
    return {"metadata": {"name": name}, "spec": {"type": "ExternalName", "externalName": host}}


def api_service(folder: Path | None, port: int, **spec: Any) -> dict[str, Any]:
    """The APIService of lamps, at a port."""
    given: dict[str, Any] = {
        "group": GROUP,
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 10,
        "service": {"namespace": "default", "name": "far", "port": port},
        **spec,
    }
    if folder is not None:
        given["caBundle"] = base64.b64encode((folder / "ca.crt").read_bytes()).decode()
    return {"metadata": {"name": NAME}, "spec": given}


def port_of(url: str) -> int:
    """The port of a URL."""
    port = urlsplit(url).port
    assert port is not None
    return port


def condition(server: Handle, name: str = NAME) -> tuple[str, str, str]:
    """Status, reason and message of whether an APIService can be reached."""
    found = server.request("GET", f"{APISERVICES}/{name}").get("status", {}).get("conditions") or [{}]
    return tuple(found[0].get(key, "") for key in ("status", "reason", "message"))  # type: ignore[return-value]

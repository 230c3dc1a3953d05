"""What /version says: which Kubernetes this server is to its clients."""

from __future__ import annotations

import platform
import sys

import orjson

from watchkeeper import __version__
from watchkeeper.endpoints.negotiation import JSON, require_named
from watchkeeper.endpoints.response import Response
from watchkeeper.endpoints.router import method_not_allowed, not_found
from watchkeeper.request.request import Request

KUBERNETES_MAJOR = "1"
KUBERNETES_MINOR = "36"
KUBERNETES_PATCH = "0"
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


def package_version() -> str:
    """watchkeeper's own version."""
    return __version__


def version_info() -> dict[str, str]:
    """version.Info. Clients compare major, minor and gitVersion with what they know."""
    machine = platform.machine()
    return {
        "major": KUBERNETES_MAJOR,
        "minor": KUBERNETES_MINOR,
        "emulationMajor": KUBERNETES_MAJOR,
        "emulationMinor": KUBERNETES_MINOR,
        "minCompatibilityMajor": KUBERNETES_MAJOR,
        "minCompatibilityMinor": str(int(KUBERNETES_MINOR) - 1),
        "gitVersion": f"v{KUBERNETES_MAJOR}.{KUBERNETES_MINOR}.{KUBERNETES_PATCH}+watchkeeper-{package_version()}",
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": sys.implementation.name,
        "platform": f"{sys.platform}/{_MACHINES.get(machine, machine)}",
    }


class Version:
    """Answers /version."""

    def __init__(self) -> None:
        self._body = b""

    def handle(self, request: Request) -> Response:
        """Answer a GET with JSON. Raises 404, 405 and 406."""
        if request.path.strip("/") != "version":
            raise not_found()
        if request.method != "GET":
            raise method_not_allowed()
        require_named(request.header(b"accept") or "*/*", (JSON,))
        if not self._body:
            self._body = orjson.dumps(version_info(), option=orjson.OPT_INDENT_2)
        return Response(200, self._body)

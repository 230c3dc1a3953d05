"""Run an API server inside a program of one's own; see docs/embedding.md.

async with ApiServer(ServeOptions(data_dir=Path("data"), port=0)) as server:
    print(server.urls[0], server.kubeconfig)
"""

from watchkeeper.admission.interface import Attributes as AdmissionAttributes
from watchkeeper.admission.interface import BasePlugin as AdmissionPlugin
from watchkeeper.admission.interface import Operation
from watchkeeper.admission.refusal import forbidden
from watchkeeper.authn.interface import InvalidToken
from watchkeeper.authz.interface import ALLOWED, NO_OPINION, Answer, Decision
from watchkeeper.authz.interface import Attributes as AuthorizerAttributes
from watchkeeper.meta.errors import ApiError
from watchkeeper.request.user import User
from watchkeeper.server.errors import StartupError
from watchkeeper.server.extensions import Extensions
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.server import Server as ApiServer

__all__ = [
    "ALLOWED",
    "NO_OPINION",
    "AdmissionAttributes",
    "AdmissionPlugin",
    "Answer",
    "ApiError",
    "ApiServer",
    "AuthorizerAttributes",
    "Decision",
    "Extensions",
    "InvalidToken",
    "Operation",
    "ServeOptions",
    "StartupError",
    "User",
    "forbidden",
]

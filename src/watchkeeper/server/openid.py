"""The paths by which others learn to verify the tokens of service accounts (OpenID Connect Discovery, KEP-1393)."""

from __future__ import annotations

from collections.abc import Callable

import orjson

from watchkeeper.authn.service_account_tokens import ServiceAccountTokens
from watchkeeper.endpoints.negotiation import require_named
from watchkeeper.endpoints.response import Response
from watchkeeper.endpoints.router import method_not_allowed
from watchkeeper.request.request import Request

CONFIGURATION = "/.well-known/openid-configuration"
KEYS = "/openid/v1/jwks"
_JSON = "application/json"
_KEY_SET = "application/jwk-set+json"
_CACHED = (b"cache-control", b"public, max-age=3600")


class OpenID:
    """Answers `/.well-known/openid-configuration` and `/openid/v1/jwks`."""

    def __init__(self, signer: ServiceAccountTokens, url: Callable[[], str], keys_url: str = "") -> None:
        """`url` is how this server is reached; relying parties read the keys there unless at `keys_url`."""
        self._signer = signer
        self._url = url
        self._keys_url = keys_url

    def configuration(self, request: Request) -> Response:
        """Answer a GET. Raises a 405 and a 406."""
        _check(request, _JSON)
        found = {
            "issuer": self._signer.issuer,
            "jwks_uri": self._keys_url or self._url() + KEYS,
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted({key.algorithm for key in self._signer.verifying_keys()}),
        }
        return Response(200, orjson.dumps(found), ((b"content-type", _JSON.encode()), _CACHED))

    def keys(self, request: Request) -> Response:
        """Answer a GET. Raises a 405 and a 406."""
        _check(request, _KEY_SET)
        found = {"keys": [key.jwk() for key in self._signer.verifying_keys()]}
        return Response(200, orjson.dumps(found), ((b"content-type", _KEY_SET.encode()), _CACHED))


def _check(request: Request, form: str) -> None:
    if request.method != "GET":
        raise method_not_allowed()
    require_named(request.header(b"accept") or "*/*", (form,))

"""Who may show what: the administrator's token, the token file, certificates, and how a server is reached safely."""

from __future__ import annotations

import logging
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from watchkeeper.authn.configuration import Anonymous, ConfigurationError, parse_configuration
from watchkeeper.authn.interface import TokenAuthenticator
from watchkeeper.authn.request import ANYBODY, RequestAuthenticator
from watchkeeper.authn.static_tokens import StaticTokens, TokenFileError, read_token_file
from watchkeeper.authn.union import TokenUnion
from watchkeeper.server.admin_token import ADMIN, admin_token
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.pki import serving_certificate
from watchkeeper.server.tls import server_context

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Credentials:
    """All that makes a server's clients trust it, and it them."""

    admin_token: str
    static_tokens: StaticTokens
    ca_pem: bytes
    """The authority of the serving certificate; empty without TLS, or when clients have to know it themselves."""
    ssl_context: ssl.SSLContext | None
    files: tuple[Path, Path] | None = None
    """Where the serving certificate and its key are."""
    own: bool = False
    """Whether the server made them itself, and has to renew them."""

    def authenticator(
        self,
        others: Sequence[TokenAuthenticator] = (),
        *,
        audiences: Sequence[str] = (),
        anonymous: Anonymous = ANYBODY,
    ) -> RequestAuthenticator:
        """What reads credentials off requests; `others` know tokens that change, such as service accounts'.

        `audiences` are the names that tokens for this server are issued to, `anonymous` says who needs none.
        """
        return RequestAuthenticator(TokenUnion(self.static_tokens, others, audiences=audiences), anonymous=anonymous)


def anonymous_requests(options: ServeOptions) -> Anonymous:
    """Which requests need no credentials, as the options or the file that they name say. Raises StartupError.

    Where everybody may do everything they do, as with kube-apiserver; but not over plain HTTP alone, which
    kube-apiserver lacks: clients in Go send no credentials there.
    """
    file = options.authentication_config
    if file is not None:
        try:
            configured = parse_configuration(file.read_text())
        except (OSError, UnicodeDecodeError, ConfigurationError) as error:
            problem = f'failed to load authentication configuration from file "{file}": {error}'
            raise StartupError(problem) from error
        if configured is not None and not options.anonymous_auth:
            raise StartupError(f"--no-anonymous-auth cannot be given where {file} says which requests are anonymous")
        if configured is not None:
            return configured
    if options.anonymous_auth and options.authorization == "AlwaysAllow" and options.tls:
        log.info("requests without credentials are refused, as --authorization AlwaysAllow asks no further")
        return Anonymous(enabled=False)
    return Anonymous(enabled=options.anonymous_auth)


def load_credentials(options: ServeOptions) -> Credentials:
    """Read or make everything in the data directory. Raises StartupError."""
    token = admin_token(options.data_dir, options.admin_token)
    users = {}
    if options.token_auth_file is not None:
        try:
            users = read_token_file(options.token_auth_file)
        except TokenFileError as error:
            raise StartupError(str(error)) from error
        except (OSError, UnicodeDecodeError) as error:
            raise StartupError(f"cannot read the token file {options.token_auth_file}: {error}") from error
    users[token] = ADMIN
    ca_pem, context, files, own = b"", None, None, False
    if options.tls:
        if options.tls_cert is not None and options.tls_key is not None:
            files = options.tls_cert, options.tls_key
        else:
            made = serving_certificate(options.data_dir, options.bind)
            files, ca_pem, own = (made.cert, made.key), made.ca_pem, True
        context = server_context(*files, options.client_ca)
    return Credentials(token, StaticTokens(users), ca_pem, context, files, own)

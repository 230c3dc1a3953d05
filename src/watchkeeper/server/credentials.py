"""Who may show what: the administrator's token, the token file, certificates, and how a server is reached safely."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.authn.configuration import Anonymous
from watchkeeper.authn.front_proxy import BehindProxy, proxy_headers
from watchkeeper.authn.interface import TokenAuthenticator
from watchkeeper.authn.request import ANYBODY, RequestAuthenticator
from watchkeeper.authn.static_tokens import StaticTokens, TokenFileError, read_token_file
from watchkeeper.authn.union import TokenUnion
from watchkeeper.server.admin_token import ADMIN, admin_token
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.pki import serving_certificate
from watchkeeper.server.tls import Tls, load_tls
from watchkeeper.server.tls_files import TlsFiles
from watchkeeper.server.tls_protocol import tls_protocol


@dataclass(frozen=True, slots=True)
class Credentials:
    """All that makes a server's clients trust it, and it them."""

    admin_token: str
    static_tokens: StaticTokens
    ca_pem: bytes
    """The authority of the serving certificate; empty without TLS, or when clients have to know it themselves."""
    tls: Tls | None
    files: TlsFiles | None = None
    """Where the serving certificate is, and all that goes with it."""
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
    ca_pem, tls, files, own = b"", None, None, False
    if options.tls:
        if options.tls_cert is not None and options.tls_key is not None:
            pair = options.tls_cert, options.tls_key
        else:
            made = serving_certificate(options.data_dir, options.bind)
            pair, ca_pem, own = (made.cert, made.key), made.ca_pem, True
        files = TlsFiles(
            *pair,
            options.client_ca,
            options.requestheader_client_ca_file,
            options.tls_sni_cert_key,
            tls_protocol(options.tls_min_version, options.tls_cipher_suites),
        )
        tls = load_tls(files)
    return Credentials(token, StaticTokens(users), ca_pem, tls, files, own)


def behind_proxies(authenticator: RequestAuthenticator, options: ServeOptions) -> RequestAuthenticator | BehindProxy:
    """An authenticator that believes front proxies, where there are any."""
    if options.requestheader_client_ca_file is None:
        return authenticator
    headers = proxy_headers(
        options.requestheader_username_headers,
        options.requestheader_uid_headers,
        options.requestheader_group_headers,
        options.requestheader_extra_headers_prefix,
    )
    allowed = options.requestheader_allowed_names
    return BehindProxy(authenticator, headers, allowed, clients=options.client_ca is not None)

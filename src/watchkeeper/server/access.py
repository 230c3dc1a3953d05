"""Who asks, and what they may do: what a server judges requests by, made from its options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.authn.interface import TokenAuthenticator
from watchkeeper.authn.request import RequestAuthenticator
from watchkeeper.authn.service_account_tokens import ServiceAccountTokens
from watchkeeper.authn.static_tokens import StaticTokens
from watchkeeper.authz.interface import Authorizer
from watchkeeper.authz.rbac.authorizer import RbacAuthorizer
from watchkeeper.authz.rbac.policy import Policy
from watchkeeper.authz.reviews import RuleResolver, RuleResolverUnion
from watchkeeper.authz.union import AlwaysAllow, AuthorizerUnion, PrivilegedGroup
from watchkeeper.request.user import LOOPBACK, SYSTEM_MASTERS, User
from watchkeeper.server.authentication import Issuers, anonymous_requests, issuers_of
from watchkeeper.server.credentials import Credentials
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.service_account_keys import service_account_keys

_ITSELF = User(LOOPBACK.name, groups=(SYSTEM_MASTERS,))


@dataclass(frozen=True, slots=True)
class Access:
    """All of it."""

    authorizer: Authorizer
    resolver: RuleResolver
    """Tells what somebody may do, without a question about one thing."""
    authenticator: RequestAuthenticator
    signer: ServiceAccountTokens
    issuers: Issuers | None
    """Others whose tokens are taken. To be started, and closed."""


def make_access(
    options: ServeOptions,
    credentials: Credentials,
    policy: Policy,
    *,
    authorizers: Sequence[Authorizer],
    tokens: Sequence[TokenAuthenticator],
    own_token: str,
    server_id: str,
) -> Access:
    """What the options say. Raises StartupError.

    `policy` is what RBAC goes by. `authorizers` and `tokens` are those of whoever embeds the server; `own_token` is by
    what it knows itself, and `server_id` what metrics call it.
    """
    signer = _signer(options)
    known = [*tokens, signer, StaticTokens({own_token: _ITSELF})]
    issuers = issuers_of(options, server_id)
    if issuers is not None:
        known.append(issuers.authenticator)
    authenticator = credentials.authenticator(
        known,
        audiences=signer.audiences,
        anonymous=anonymous_requests(options, issuers.anonymous if issuers is not None else None),
    )
    return Access(
        _authorizer(options, policy, authorizers), _rule_resolver(options, policy), authenticator, signer, issuers
    )


def _authorizer(options: ServeOptions, policy: Policy, own: Sequence[Authorizer]) -> Authorizer:
    modes = options.authorization_modes
    if modes == ("AlwaysAllow",) and not own:
        return AlwaysAllow()
    asked = [RbacAuthorizer(policy) if mode == "RBAC" else AlwaysAllow() for mode in modes]
    return AuthorizerUnion([PrivilegedGroup(), *own, *asked])


def _rule_resolver(options: ServeOptions, policy: Policy) -> RuleResolver:
    resolvers = [policy if mode == "RBAC" else AlwaysAllow() for mode in options.authorization_modes]
    return resolvers[0] if len(resolvers) == 1 else RuleResolverUnion(resolvers)


def _signer(options: ServeOptions) -> ServiceAccountTokens:
    issuer, *earlier_issuers = options.service_account_issuer
    return ServiceAccountTokens(
        service_account_keys(
            options.data_dir, options.service_account_signing_key_file, options.service_account_key_file
        ),
        issuer,
        options.api_audiences,
        earlier_issuers=earlier_issuers,
        extends=options.service_account_extend_token_expiration,
        max_seconds=int(options.service_account_max_token_expiration),
    )

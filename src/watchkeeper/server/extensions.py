"""What a program that embeds a server adds to it, in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watchkeeper.admission.interface import Plugin
from watchkeeper.authn.interface import TokenAuthenticator
from watchkeeper.authz.interface import Authorizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    """Each in the order in which it is asked."""

    tokens: Sequence[TokenAuthenticator] = ()
    """Who knows further bearer tokens: asked before service accounts' tokens are tried."""
    authorizers: Sequence[Authorizer] = ()
    """Who may decide before `ServeOptions.authorization` does. Nobody is asked about `system:masters`."""
    admission: Sequence[Plugin] = ()
    """Rules for writes: after the built-in ones, before policies and webhooks."""

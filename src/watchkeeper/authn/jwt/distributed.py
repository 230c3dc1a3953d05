"""Claims that a token does not hold itself, but says where to get (OpenID Connect Core 1.0, 5.6.2)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.authn.jwt.claims import Claims
from watchkeeper.authn.jwt.fetching import Fetcher, FetchError
from watchkeeper.authn.jwt.go_values import field_of
from watchkeeper.authn.jwt.issuer import Issuer
from watchkeeper.authn.jwt.keys import KeySet
from watchkeeper.authn.jwt.verification import Unverified, issuer_of, verified
from watchkeeper.meta.field import go_quote

_MAX_ISSUERS = 64
"""The keys of so many issuers are kept for each that refers to them; those that were asked for first are forgotten."""


class ClaimResolver:
    """Fetches the groups of users from where the tokens of one issuer say that they are."""

    def __init__(self, issuer: Issuer, tasks: TaskOwner, clock: Clock = SYSTEM_CLOCK) -> None:
        """`tasks` own what looks for the keys of those who sign such claims."""
        self._issuer = issuer
        self._tasks = tasks
        self._clock = clock
        self._fetcher = Fetcher(issuer.authority)
        self._keys: dict[str, tuple[Issuer, KeySet, asyncio.Task[Any]]] = {}

    def __repr__(self) -> str:
        return f"<ClaimResolver of {self._issuer.url} with the keys of {', '.join(self._keys) or 'nobody'}>"

    async def expand(self, claims: Claims) -> Claims:
        """The claims of a token that was verified, with the groups that are elsewhere. Raises Unverified."""
        claim = self._issuer.groups.claim
        if not claim or claim in claims or "_claim_names" not in claims:
            return claims
        if not isinstance(names := claims["_claim_names"] or {}, dict):
            raise Unverified("oidc: error parsing distributed claim names: they are no object")
        if "_claim_sources" not in claims:
            raise Unverified("oidc: no claim sources")
        if not isinstance(sources := claims["_claim_sources"] or {}, dict):
            raise Unverified("oidc: could not parse claim sources: they are no object")
        source = names.get(claim)
        if source is None:
            return claims
        if source not in sources:
            raise Unverified(f"id token _claim_names contained a source {source} missing in _claims_sources")
        found = sources[source] or {}
        endpoint = field_of(found, "endpoint") or ""
        if not endpoint:
            # Claims that stand in the token as another token are not read, nor are they by kube-apiserver.
            return claims
        return {**claims, claim: await self._resolve(claim, endpoint, field_of(found, "access_token") or "")}

    async def _resolve(self, claim: str, endpoint: str, access_token: str) -> Any:
        try:
            token = await self._fetched(endpoint, access_token)
        except (FetchError, Unverified) as error:
            raise Unverified(f"while getting distributed claim {go_quote(claim)}: {error}") from error
        try:
            url = issuer_of(token)
        except Unverified as error:
            what = f"getting untrusted issuer from endpoint {endpoint} failed for claim {go_quote(claim)}"
            raise Unverified(f"{what}: {error}") from error
        issuer, keys = self._known(url)
        if keys.problem:
            why = f"verifier not initialized for issuer: {go_quote(url)}"
            raise Unverified(f"verifying untrusted issuer {url} failed: {why}")
        try:
            claims = await verified("".join(token.split()), issuer, keys)
        except Unverified as error:
            raise Unverified(f"verify distributed claim token: {error}") from error
        if claim not in claims:
            what = f"jwt returned by distributed claim endpoint {go_quote(endpoint)} did not contain claim"
            raise Unverified(f"{what}: {claim}")
        return claims[claim]

    async def _fetched(self, endpoint: str, access_token: str) -> str:
        headers = {"Authorization": f"Bearer {access_token}"} if access_token else {}
        answer = await self._fetcher.fetch(endpoint, headers)
        if not 200 <= answer.status <= 226:
            try:
                told = f"{answer.status} {HTTPStatus(answer.status).phrase}"
            except ValueError:
                told = str(answer.status)
            raise Unverified(f"error while getting distributed claim JWT: {told}")
        return answer.body.decode(errors="replace")

    def _known(self, url: str) -> tuple[Issuer, KeySet]:
        """An issuer and its keys, which are looked for from the first time on."""
        found = self._keys.get(url)
        if found is None:
            if len(self._keys) >= _MAX_ISSUERS:
                _, _, oldest = self._keys.pop(next(iter(self._keys)))
                oldest.cancel()
            own = url == self._issuer.url
            issuer = replace(self._issuer, url=url, discovery_url=self._issuer.discovery_url if own else "")
            keys = KeySet(issuer, self._tasks, self._clock)
            found = self._keys[url] = issuer, keys, self._tasks.start(url, keys.discover())
        return found[0], found[1]

"""What a configuration says of one issuer of tokens, and what is wrong with that."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from watchkeeper.apis.validation.domains import validate_domain_prefixed_path
from watchkeeper.authn.jwt.expressions import CLAIMS, USER, Expression, ExpressionError
from watchkeeper.meta.field import FieldError, duplicate, go_quote, invalid, required, too_many
from watchkeeper.runtime.x509 import authorities

_MAX_ISSUERS = 64
_MATCH_ANY = "MatchAny"
_BOTH = "claim and expression can't both be set"
_EMAIL_UNVERIFIED = (
    "claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression"
    " or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression"
)
_RESERVED = re.compile(r"(?:.*\.)?(?:kubernetes|k8s)\.io")
ALGORITHMS = ("ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512")


@dataclass(frozen=True, slots=True)
class ClaimMapping:
    """A claim with a prefix, or an expression."""

    claim: str = ""
    prefix: str = ""
    expression: Expression | None = None

    def __bool__(self) -> bool:
        return bool(self.claim or self.expression)


NO_MAPPING = ClaimMapping()


@dataclass(frozen=True, slots=True)
class Condition:
    """What has to be true of claims or a user, and what is said when it is not."""

    expression: Expression
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Issuer:
    """An issuer of tokens."""

    url: str
    discovery_url: str = ""
    authority: str = field(default="", repr=False)
    """In PEM; "" for those of the system."""
    audiences: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ALGORITHMS
    username: ClaimMapping = NO_MAPPING
    groups: ClaimMapping = NO_MAPPING
    uid: ClaimMapping = NO_MAPPING
    extra: tuple[tuple[str, Expression], ...] = ()
    required_claims: tuple[tuple[str, str], ...] = ()
    claim_conditions: tuple[Condition, ...] = ()
    user_conditions: tuple[Condition, ...] = ()


def read_issuers(
    jwt: Sequence[Mapping[str, Any]], disallowed: Collection[str], algorithms: Sequence[str] = ALGORITHMS
) -> tuple[list[Issuer], list[FieldError]]:
    """The issuers of a configuration, and what is wrong with it; `disallowed` are the server's own."""
    if len(jwt) > _MAX_ISSUERS:
        return [], [too_many("jwt", len(jwt), _MAX_ISSUERS)]
    errors: list[FieldError] = []
    issuers: list[Issuer] = []
    seen: dict[str, set[str]] = {"url": set(), "discoveryURL": set()}
    for i, given in enumerate(jwt):
        reader = _Reader(f"jwt[{i}]", errors)
        issuers.append(reader.issuer(given, disallowed, tuple(algorithms)))
        about = given.get("issuer") or {}
        for name, known in seen.items():
            value = about.get(name) or ""
            if value in known:
                errors.append(duplicate(f"jwt[{i}].issuer.{name}", value))
            if value or name == "url":
                known.add(value)
    return issuers, errors


class _Reader:
    """Reads one issuer, and notes what is wrong; what it returns is of use only if nothing is."""

    def __init__(self, path: str, errors: list[FieldError]) -> None:
        self._path = path
        self._errors = errors

    def issuer(self, given: Mapping[str, Any], disallowed: Collection[str], algorithms: tuple[str, ...]) -> Issuer:
        about = given.get("issuer") or {}
        self._check_issuer(about, disallowed)
        required_claims, conditions = self._claim_rules(given.get("claimValidationRules") or ())
        mappings = given.get("claimMappings") or {}
        path = f"{self._path}.claimMappings"
        username = self._mapping(mappings.get("username") or {}, f"{path}.username", needed=True)
        groups = self._mapping(mappings.get("groups") or {}, f"{path}.groups", needed=False)
        uid = self._uid(mappings.get("uid") or {}, f"{path}.uid")
        extra = self._extra(mappings.get("extra") or (), f"{path}.extra")
        expression = username.expression
        if expression is not None and expression.reads_claim("email"):
            others = [expression, *(each for _, each in extra), *(each.expression for each in conditions)]
            if not any(each.reads_claim("email_verified") for each in others):
                self._errors.append(invalid(f"{path}.username.expression", expression.source, _EMAIL_UNVERIFIED))
        return Issuer(
            url=about.get("url") or "",
            discovery_url=about.get("discoveryURL") or "",
            authority=about.get("certificateAuthority") or "",
            audiences=tuple(about.get("audiences") or ()),
            algorithms=algorithms,
            username=username,
            groups=groups,
            uid=uid,
            extra=tuple(extra),
            required_claims=tuple(required_claims),
            claim_conditions=tuple(conditions),
            user_conditions=tuple(self._user_rules(given.get("userValidationRules") or ())),
        )

    def _check_issuer(self, about: Mapping[str, Any], disallowed: Collection[str]) -> None:
        path = f"{self._path}.issuer"
        url, discovery = about.get("url") or "", about.get("discoveryURL") or ""
        if not url:
            self._errors.append(required(f"{path}.url"))
        else:
            self._check_url(url, f"{path}.url", disallowed)
        if discovery:
            if url and url.rstrip("/") == discovery.rstrip("/"):
                why = "discoveryURL must be different from URL"
                self._errors.append(invalid(f"{path}.discoveryURL", discovery, why))
            self._check_url(discovery, f"{path}.discoveryURL", ())
        self._check_audiences(about.get("audiences") or (), about.get("audienceMatchPolicy") or "", path)
        authority = about.get("certificateAuthority") or ""
        if authority and not authorities(authority.encode()):
            why = "data does not contain any valid RSA or ECDSA certificates"
            self._errors.append(invalid(f"{path}.certificateAuthority", "<omitted>", why))
        if selector := about.get("egressSelectorType"):
            why = "egress selector must be either controlplane or cluster"
            if selector in ("controlplane", "cluster"):
                why = "this server has no egress selectors"
            self._errors.append(invalid(f"{path}.egressSelectorType", selector, why))

    def _check_url(self, url: str, path: str, disallowed: Collection[str]) -> None:
        if url in disallowed:
            why = f"URL must not overlap with disallowed issuers: [{' '.join(sorted(disallowed))}]"
            self._errors.append(invalid(path, url, why))
        try:
            parts = urlsplit(url)
        except ValueError as error:
            self._errors.append(invalid(path, url, f"parse {go_quote(url)}: {error}"))
            return
        for wrong, why in (
            (parts.scheme != "https", "URL scheme must be https"),
            ("@" in parts.netloc, "URL must not contain a username or password"),
            (parts.query, "URL must not contain a query"),
            (parts.fragment, "URL must not contain a fragment"),
        ):
            if wrong:
                self._errors.append(invalid(path, url, why))

    def _check_audiences(self, audiences: Sequence[Any], policy: str, path: str) -> None:
        if not audiences:
            where = f"{path}.audiences"
            self._errors.append(required(where, f"at least one {where} is required"))
            return
        seen: set[str] = set()
        for i, audience in enumerate(audiences):
            if not audience:
                self._errors.append(required(f"{path}.audiences[{i}]"))
            if audience in seen:
                self._errors.append(duplicate(f"{path}.audiences[{i}]", audience or ""))
            seen.add(audience)
        if len(audiences) > 1 and policy != _MATCH_ANY:
            why = "audienceMatchPolicy must be MatchAny for multiple audiences"
            self._errors.append(invalid(f"{path}.audienceMatchPolicy", policy, why))
        if len(audiences) == 1 and policy not in ("", _MATCH_ANY):
            why = "audienceMatchPolicy must be empty or MatchAny for single audience"
            self._errors.append(invalid(f"{path}.audienceMatchPolicy", policy, why))

    def _claim_rules(self, rules: Sequence[Any]) -> tuple[list[tuple[str, str]], list[Condition]]:
        claims: dict[str, str] = {}
        conditions: list[Condition] = []
        expressions: set[str] = set()
        for i, rule in enumerate(rules):
            path = f"{self._path}.claimValidationRules[{i}]"
            claim, expression = rule.get("claim") or "", rule.get("expression") or ""
            if claim and expression:
                self._errors.append(invalid(path, claim, _BOTH))
            elif not claim and not expression:
                self._errors.append(required(path, "claim or expression is required"))
            elif claim:
                if rule.get("message"):
                    why = "may not be specified when claim is set"
                    self._errors.append(invalid(f"{path}.message", rule["message"], why))
                if claim in claims:
                    self._errors.append(duplicate(f"{path}.claim", claim))
                claims[claim] = rule.get("requiredValue") or ""
            else:
                if rule.get("requiredValue"):
                    why = "may not be specified when expression is set"
                    self._errors.append(invalid(f"{path}.requiredValue", rule["requiredValue"], why))
                conditions += self._condition(rule, CLAIMS, f"{path}.expression", expressions)
        return list(claims.items()), conditions

    def _user_rules(self, rules: Sequence[Any]) -> list[Condition]:
        conditions: list[Condition] = []
        expressions: set[str] = set()
        for i, rule in enumerate(rules):
            path = f"{self._path}.userValidationRules[{i}].expression"
            if not rule.get("expression"):
                self._errors.append(required(path))
            else:
                conditions += self._condition(rule, USER, path, expressions)
        return conditions

    def _condition(self, rule: Mapping[str, Any], variable: str, path: str, seen: set[str]) -> list[Condition]:
        source = rule["expression"]
        if source in seen:
            self._errors.append(duplicate(path, source))
            return []
        seen.add(source)
        compiled = self._compiled(source, variable, path, is_condition=True)
        return [] if compiled is None else [Condition(compiled, rule.get("message") or "")]

    def _mapping(self, given: Mapping[str, Any], path: str, *, needed: bool) -> ClaimMapping:
        claim, source, prefix = given.get("claim") or "", given.get("expression") or "", given.get("prefix")
        compiled: Expression | None = None
        if claim and source:
            self._errors.append(invalid(path, "", _BOTH))
        elif source:
            if prefix is not None:
                why = "may not be specified when expression is set"
                self._errors.append(invalid(f"{path}.prefix", prefix, why))
            compiled = self._compiled(source, CLAIMS, f"{path}.expression")
        elif claim and prefix is None:
            why = "prefix is required when claim is set. It can be set to an empty string to disable prefixing"
            self._errors.append(required(f"{path}.prefix", why))
        elif not claim and needed:
            self._errors.append(required(path, "claim or expression is required"))
        return ClaimMapping(claim, prefix or "", compiled)

    def _uid(self, given: Mapping[str, Any], path: str) -> ClaimMapping:
        claim, source = given.get("claim") or "", given.get("expression") or ""
        if claim and source:
            self._errors.append(invalid(path, "", _BOTH))
        compiled = self._compiled(source, CLAIMS, f"{path}.expression") if source and not claim else None
        return ClaimMapping(claim, "", compiled)

    def _extra(self, given: Sequence[Any], path: str) -> list[tuple[str, Expression]]:
        found: list[tuple[str, Expression]] = []
        seen: set[str] = set()
        for i, each in enumerate(given):
            key, source, where = each.get("key") or "", each.get("valueExpression") or "", f"{path}[{i}]"
            self._errors += validate_domain_prefixed_path(key, f"{where}.key")
            if key != key.lower():
                self._errors.append(invalid(f"{where}.key", key, "must be lowercase"))
            if "/" in key and _RESERVED.fullmatch(key.partition("/")[0]):
                why = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"
                self._errors.append(invalid(f"{where}.key", key, why))
            if key in seen:
                self._errors.append(duplicate(f"{where}.key", key))
                continue
            seen.add(key)
            if not source:
                self._errors.append(required(f"{where}.valueExpression"))
                continue
            compiled = self._compiled(source, CLAIMS, f"{where}.valueExpression")
            if compiled is not None:
                found.append((key, compiled))
        return found

    def _compiled(self, source: str, variable: str, path: str, *, is_condition: bool = False) -> Expression | None:
        try:
            return Expression(source, variable, is_condition=is_condition)
        except ExpressionError as error:
            self._errors.append(invalid(path, source, str(error)))
            return None

"""Issuers of tokens, and who a token's claims say that a user is."""

from __future__ import annotations

from typing import Any

import pytest

from watchkeeper.authn.interface import InvalidToken
from watchkeeper.authn.jwt.claims import claimed_user
from watchkeeper.authn.jwt.issuer import Issuer, read_issuers
from watchkeeper.request.user import User

URL = "https://issuer.test"
SUB = {"username": {"claim": "sub", "prefix": ""}}


def configured(**fields: Any) -> dict[str, Any]:
    return {"issuer": {"url": URL, "audiences": ["me"]}, "claimMappings": SUB, **fields}


def about(**fields: Any) -> dict[str, Any]:
    return configured(issuer={"url": URL, "audiences": ["me"], **fields})


def issuer(**fields: Any) -> Issuer:
    [found], faults = read_issuers([configured(**fields)], ())
    assert faults == []
    return found


def mapped(**mappings: Any) -> Issuer:
    return issuer(claimMappings={**SUB, **mappings})


def by(expression: str) -> dict[str, str]:
    return {"expression": expression}


@pytest.mark.parametrize(
    ("given", "faults"),
    [
        (about(url=""), ["jwt[0].issuer.url: Required value"]),
        (about(url="http://u:p@x?q#f"), [
            'jwt[0].issuer.url: Invalid value: "http://u:p@x?q#f": URL scheme must be https',
            'jwt[0].issuer.url: Invalid value: "http://u:p@x?q#f": URL must not contain a username or password',
            'jwt[0].issuer.url: Invalid value: "http://u:p@x?q#f": URL must not contain a query',
            'jwt[0].issuer.url: Invalid value: "http://u:p@x?q#f": URL must not contain a fragment',
        ]),
        (about(url="https://own"), ['jwt[0].issuer.url: Invalid value: "https://own": URL must not overlap with'
                                    " disallowed issuers: [https://own]"]),
        (about(discoveryURL=f"{URL}/"), [f'jwt[0].issuer.discoveryURL: Invalid value: "{URL}/": discoveryURL must be'
                                         " different from URL"]),
        (about(audiences=[]), ["jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is"
                               " required"]),
        (about(audiences=["a", "a", ""]), [
            'jwt[0].issuer.audiences[1]: Duplicate value: "a"',
            "jwt[0].issuer.audiences[2]: Required value",
            'jwt[0].issuer.audienceMatchPolicy: Invalid value: "": audienceMatchPolicy must be MatchAny for multiple'
            " audiences",
        ]),
        (about(audienceMatchPolicy="All"), ['jwt[0].issuer.audienceMatchPolicy: Invalid value: "All":'
                                            " audienceMatchPolicy must be empty or MatchAny for single audience"]),
        (about(certificateAuthority="x"), ['jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>": data does'
                                           " not contain any valid RSA or ECDSA certificates"]),
        (configured(claimMappings={}), ["jwt[0].claimMappings.username: Required value: claim or expression is"
                                        " required"]),
        (configured(claimMappings={"username": {"claim": "sub"}}), [
            "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set"
            " to an empty string to disable prefixing"]),
        (configured(claimMappings={"username": {"expression": "claims.a", "prefix": "x"}}), [
            'jwt[0].claimMappings.username.prefix: Invalid value: "x": may not be specified when expression is set']),
        (configured(claimMappings={"username": by("claims.email")}), [
            'jwt[0].claimMappings.username.expression: Invalid value: "claims.email": claims.email_verified must be'
            " used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or"
            " claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression"]),
        (configured(claimMappings={**SUB, "extra": [{"key": "x", "valueExpression": "''"}]}), [
            'jwt[0].claimMappings.extra[0].key: Invalid value: "x": must be a domain-prefixed path (such as'
            ' "acme.io/foo")']),
        (configured(claimMappings={**SUB, "extra": [{"key": "a.k8s.io/x"}]}), [
            'jwt[0].claimMappings.extra[0].key: Invalid value: "a.k8s.io/x": k8s.io, kubernetes.io and their subdomains'
            " are reserved for Kubernetes use", "jwt[0].claimMappings.extra[0].valueExpression: Required value"]),
        (configured(claimValidationRules=[{}, {"claim": "a", "message": "m"}, {"claim": "a", "expression": "true"}]), [
            "jwt[0].claimValidationRules[0]: Required value: claim or expression is required",
            'jwt[0].claimValidationRules[1].message: Invalid value: "m": may not be specified when claim is set',
            'jwt[0].claimValidationRules[2]: Invalid value: "a": claim and expression can\'t both be set']),
        (configured(claimValidationRules=[by("claims.a")]), [
            'jwt[0].claimValidationRules[0].expression: Invalid value: "claims.a": must evaluate to bool']),
        (configured(userValidationRules=[by("user.name == ''"), by("true"), by("true")]), [
            "jwt[0].userValidationRules[0].expression: Invalid value: \"user.name == ''\": compilation failed: ERROR:"
            " <input>:1:5: undefined field 'name'\n | user.name == ''\n | ....^",
            'jwt[0].userValidationRules[2].expression: Duplicate value: "true"']),
    ],
)  # fmt: skip
def test_what_is_wrong_with_an_issuer_is_told(given: dict[str, Any], faults: list[str]) -> None:
    assert [str(fault) for fault in read_issuers([given], ["https://own"])[1]] == faults


def test_issuers_are_named_once() -> None:
    twice = [about(discoveryURL="https://d"), about(discoveryURL="https://d")]
    assert [str(fault) for fault in read_issuers(twice, ())[1]] == [
        f'jwt[1].issuer.url: Duplicate value: "{URL}"',
        'jwt[1].issuer.discoveryURL: Duplicate value: "https://d"',
    ]
    assert str(read_issuers([configured()] * 65, ())[1][0]).startswith("jwt: Too many: 65")


@pytest.mark.parametrize(
    ("who", "claims", "user"),
    [
        (issuer(), {"sub": "ann", "jti": "7"},
         User("ann", extra={"authentication.kubernetes.io/credential-id": ("JTI=7",)})),
        (mapped(username={"claim": "name", "prefix": "p:"}, groups={"claim": "g", "prefix": "g:"}, uid={"claim": "u"}),
         {"name": "ann", "g": ["a", "b"], "u": "1"}, User("p:ann", uid="1", groups=("g:a", "g:b"))),
        (mapped(groups={"claim": "g", "prefix": ""}), {"sub": "ann", "g": "one"}, User("ann", groups=("one",))),
        (mapped(username=by("claims.sub + '@' + claims.tenant.id"), groups=by("claims.roles.split(',')"),
                uid=by("string(claims.number)"),
                extra=[{"key": "acme.io/one", "valueExpression": "claims.acme__dot__io__slash__team"},
                       {"key": "acme.io/none", "valueExpression": "claims.?none.orValue([])"}]),
         {"sub": "ann", "tenant": {"id": "x"}, "roles": "a,,b", "number": 1.0, "acme.io/team": "blue"},
         User("ann@x", uid="1", groups=("a", "b"), extra={"acme.io/one": ("blue",)})),
        (mapped(username={"claim": "email", "prefix": ""}), {"email": "a@b", "email_verified": True}, User("a@b")),
        (mapped(groups=by("null")), {"sub": "ann"}, User("ann")),
        (mapped(groups={"claim": "g", "prefix": ""}),
         {"sub": "ann", "_claim_names": {"g": "src"}, "_claim_sources": {"src": {"JWT": "x"}}}, User("ann")),
        (issuer(claimValidationRules=[{"claim": "hd", "requiredValue": "x"}, by("claims.n == 1.0")],
                userValidationRules=[by("!user.username.startsWith('system:') && user.groups.size() == 0")]),
         {"sub": "ann", "hd": "x", "n": 1.0}, User("ann")),
    ],
)  # fmt: skip
def test_claims_make_a_user(who: Issuer, claims: dict[str, Any], user: User) -> None:
    assert claimed_user(who, claims) == user


@pytest.mark.parametrize(
    ("who", "claims", "problem"),
    [
        (issuer(), {}, 'oidc: parse username claims "sub": claim not present'),
        (issuer(), {"sub": 1.0}, 'oidc: parse username claims "sub": json: cannot unmarshal number into Go value of'
                                 " type string"),
        (mapped(username={"claim": "email", "prefix": ""}), {"email": "a", "email_verified": False},
         "oidc: email not verified"),
        (mapped(username=by("claims.roles")), {"roles": []}, "oidc: error evaluating username claim expression:"
         " username claim expression must return a string"),
        (mapped(username=by("claims.name")), {"name": ""}, "oidc: empty username via CEL expression is not allowed"),
        (mapped(username=by("claims.name")), {}, "oidc: error evaluating username claim expression: expression"
         " 'claims.name' resulted in error: no such key: name"),
        (mapped(groups=by("claims.g")), {"sub": "a", "g": 1.0}, "oidc: error evaluating group claim expression:"
         " expression must return a string or a list of strings"),
        (issuer(claimValidationRules=[{"claim": "hd", "requiredValue": "x"}]), {"sub": "a"},
         "oidc: required claim hd not present in ID token"),
        (issuer(claimValidationRules=[{"claim": "hd", "requiredValue": "x"}]), {"sub": "a", "hd": "y"},
         "oidc: required claim hd value does not match. Got = y, want = x"),
        (issuer(claimValidationRules=[{"expression": "claims.n == 2.0", "message": "two!"}]), {"sub": "a", "n": 1.0},
         "oidc: error evaluating claim validation expression: validation expression 'claims.n == 2.0' failed: two!"),
        (issuer(userValidationRules=[{"expression": "user.username != 'a'", "message": "no a"}]), {"sub": "a"},
         "oidc: error evaluating user info validation rule: validation expression 'user.username != 'a'' failed: no a"),
    ],
)  # fmt: skip
def test_claims_that_make_none_say_why(who: Issuer, claims: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidToken) as refused:
        claimed_user(who, claims)
    assert refused.value.args == (problem,)

"""What an AuthenticationConfiguration says of requests without credentials."""

from __future__ import annotations

import pytest

from watchkeeper.authn.configuration import Anonymous, Configuration, ConfigurationError, parse_configuration

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n"


def test_a_file_that_says_nothing_of_them_leaves_it_to_others() -> None:
    assert parse_configuration(HEAD) == Configuration()
    assert parse_configuration(HEAD.replace("/v1", "/v1beta1") + "jwt: []\nanonymous: null\n") == Configuration()


def test_conditions_are_exact_paths() -> None:
    found = parse_configuration(
        HEAD + "anonymous: {enabled: true, conditions: [{path: /livez}, {path: /readyz}]}"
    ).anonymous
    assert found == Anonymous(paths=frozenset({"/livez", "/readyz"}))
    assert found is not None
    assert [found.admits(path) for path in ("/livez", "/livez/", "/livez/ping", "/healthz")] == [True, *3 * [False]]


def test_texts_are_what_they_are_in_go() -> None:
    found = parse_configuration(f"{HEAD}jwt: [{{issuer: {{url: 2020-13-45, audiences: [1:30, 2020-01-01]}}}}]")
    assert found.jwt == ({"issuer": {"url": "2020-13-45", "audiences": ["1:30", "2020-01-01"]}},)


def test_without_conditions_all_or_none_are_admitted() -> None:
    for text, enabled in (("{enabled: true}", True), ("{enabled: false}", False), ("{}", False)):
        found = parse_configuration(f"{HEAD}anonymous: {text}").anonymous
        assert found == Anonymous(enabled=enabled)
        assert found is not None
        assert found.admits("/api") is enabled


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty config data"),
        ("[]", "the file holds no object"),
        ("a: [", "did not find expected node content"),
        ("[" * 3000, "yaml: exceeded max"),
        ("a: &a [*a]", "yaml: anchor 'a' value contains itself"),
        ("a: !!int x", "yaml: cannot decode !!str `x` as a !!int"),
        (HEAD + "anonymous: {enabled: true, enabled: false}", 'key "enabled" already set in map'),
        ("kind: AuthenticationConfiguration", "Object 'apiVersion' is missing"),
        (HEAD.replace("Authentication", "Authorization"), 'no kind "AuthorizationConfiguration" is registered'),
        (HEAD + "jwt: [{issue: {}}]", 'unknown field "jwt[0].issue"'),
        (HEAD + "jwts: []", 'unknown field "jwts"'),
        (HEAD + "anonymous: {enable: true}", 'unknown field "anonymous.enable"'),
        (
            HEAD + "anonymous: {enabled: 1}",
            "json: cannot unmarshal number into field anonymous.enabled, which is of type bool",
        ),
        (
            HEAD + "anonymous: {enabled: true, conditions: [/livez]}",
            "json: cannot unmarshal string into field anonymous.conditions[0], which is an object",
        ),
        (
            HEAD + "anonymous: {enabled: false, conditions: [{path: /livez}]}",
            "anonymous.conditions: enabled should be set to true when conditions are defined",
        ),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(text)
    assert problem in str(caught.value)

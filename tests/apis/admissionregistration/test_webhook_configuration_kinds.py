"""Webhook configurations: what is filled in, what must be said, and what updates may leave as it was."""

import copy
from typing import Any

import pytest
from kind_writer import create, created, row, update


def hook(name: str = "a.example.io", **fields: Any) -> Any:
    defaults = {
        "name": name,
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {key: value for key, value in {**defaults, **fields}.items() if value is not None}


def configuration(*hooks: Any, kind: str = "Validating") -> Any:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": f"{kind}WebhookConfiguration",
        "metadata": {"name": "hooks"},
        "webhooks": list(hooks),
    }


def rule(**fields: Any) -> Any:
    return {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], **fields}


def errors_of(**fields: Any) -> list[str]:
    return create(configuration(hook(**fields))).errors


def test_a_validating_webhook_is_filled_in() -> None:
    obj = created(configuration(hook(rules=[rule()], clientConfig={"service": {"namespace": "n", "name": "s"}})))
    assert obj["metadata"]["generation"] == 1
    assert obj["webhooks"] == [
        {
            "name": "a.example.io",
            "clientConfig": {"service": {"namespace": "n", "name": "s", "port": 443}},
            "rules": [{**rule(), "scope": "*"}],
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "sideEffects": "None",
            "timeoutSeconds": 10,
            "admissionReviewVersions": ["v1"],
        }
    ]


def test_a_mutating_webhook_is_not_called_again_unless_it_asks_for_it() -> None:
    obj = created(configuration(hook(), kind="Mutating"))
    assert obj["webhooks"][0]["reinvocationPolicy"] == "Never"
    wrong = create(configuration(hook(reinvocationPolicy="Often"), kind="Mutating")).errors
    assert wrong == [
        'webhooks[0].reinvocationPolicy: Unsupported value: "Often": supported values: "IfNeeded", "Never"'
    ]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        (
            {"name": "short.name"},
            'name: Invalid value: "short.name": should be a domain with at least three segments separated by dots',
        ),
        ({"sideEffects": None}, "sideEffects: Required value: must specify one of None, NoneOnDryRun"),
        (
            {"sideEffects": "Some"},
            'sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
        ),
        (
            {"timeoutSeconds": 31},
            "timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
        ),
        (
            {"failurePolicy": "Shrug"},
            'failurePolicy: Unsupported value: "Shrug": supported values: "Fail", "Ignore"',
        ),
        (
            {"matchPolicy": "Vague"},
            'matchPolicy: Unsupported value: "Vague": supported values: "Equivalent", "Exact"',
        ),
        (
            {"admissionReviewVersions": None},
            "admissionReviewVersions: Required value: must specify one of v1, v1beta1",
        ),
        (
            {"admissionReviewVersions": ["v3"]},
            'admissionReviewVersions: Invalid value: ["v3"]: must include at least one of v1, v1beta1',
        ),
        (
            {"admissionReviewVersions": ["v1", "v1"]},
            'admissionReviewVersions[1]: Invalid value: "v1": duplicate version',
        ),
        ({"clientConfig": {}}, "clientConfig: Required value: exactly one of url or service is required"),
    ],
)
def test_what_a_webhook_must_say(fields: Any, error: str) -> None:
    assert errors_of(**fields) == [f"webhooks[0].{error}"]


@pytest.mark.parametrize(
    ("url", "error"),
    [
        (
            "http://h/",
            "Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
        ),
        ("https://u:p@h/", 'Invalid value: "u:p": user information is not permitted in the URL'),
        ("https://h/#f", 'Invalid value: "f": fragments are not permitted in the URL'),
        ("https://h/?q=1", 'Invalid value: "q=1": query parameters are not permitted in the URL'),
        ("https:///path", 'Invalid value: "": host must be specified; desired format: https://host[/path]'),
        (
            "https://h:x/",
            'Required value: url must be a valid URL: parse "https://h:x/": invalid port ":x" after host'
            "; desired format: https://host[/path]",
        ),
        (
            "https://[::1/",
            "Required value: url must be a valid URL: parse \"https://[::1/\": missing ']' in host"
            "; desired format: https://host[/path]",
        ),
        (
            "https://h/%zz",
            'Required value: url must be a valid URL: parse "https://h/%zz": invalid URL escape "%zz"'
            "; desired format: https://host[/path]",
        ),
    ],
)
def test_a_url_is_https_and_a_host_and_a_path(url: str, error: str) -> None:
    assert errors_of(clientConfig={"url": url}) == [f"webhooks[0].clientConfig.url: {error}"]


def test_a_port_and_an_ipv6_address_are_a_host() -> None:
    assert errors_of(clientConfig={"url": "https://[::1]:8443/path"}) == []


@pytest.mark.parametrize(
    ("service", "errors"),
    [
        ({"name": "s"}, ["name: Required value"]),
        ({"namespace": "n"}, ["namespace: Required value"]),
        (
            {"port": 0},
            ["port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive"],
        ),
        ({"path": "x"}, ["path: Invalid value: \"x\": must start with a '/'", 'path: Invalid value: "x": segment[0]']),
        ({"path": "/a//b"}, ['path: Invalid value: "/a//b": segment[1] may not be empty']),
        ({"path": "/a/b/"}, []),
    ],
)
def test_a_service_is_named_whole(service: Any, errors: list[str]) -> None:
    given = (
        service
        if len(service) == 1 and {"name", "namespace"} & service.keys()
        else {
            "name": "s",
            "namespace": "n",
            **service,
        }
    )
    found = errors_of(clientConfig={"service": given})
    assert len(found) == len(errors)
    for text, error in zip(found, errors, strict=True):
        assert text.startswith(f"webhooks[0].clientConfig.service.{error}")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"operations": []}, ".operations: Required value"),
        (
            {"operations": ["*", "CREATE"]},
            '.operations: Invalid value: ["*","CREATE"]: if \'*\' is present, must not specify other operations',
        ),
        (
            {"operations": ["EAT"]},
            '.operations[0]: Unsupported value: "EAT": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
        ),
        ({"apiGroups": []}, ".apiGroups: Required value"),
        (
            {"apiVersions": ["*", "v1"]},
            '.apiVersions: Invalid value: ["*","v1"]: if \'*\' is present, must not specify other API versions',
        ),
        ({"apiVersions": [""]}, ".apiVersions[0]: Required value"),
        (
            {"resources": ["pods/*", "pods/exec"]},
            ".resources[1]: Invalid value: \"pods/exec\": if 'pods/*' is present, must not specify pods/exec",
        ),
        (
            {"resources": ["*/exec", "pods/exec"]},
            ".resources[1]: Invalid value: \"pods/exec\": if '*/exec' is present, must not specify pods/exec",
        ),
        (
            {"resources": ["*", "pods"]},
            '.resources: Invalid value: ["*","pods"]: '
            "if '*' is present, must not specify other resources without subresources",
        ),
        ({"scope": "Local"}, '.scope: Unsupported value: "Local": supported values: "*", "Cluster", "Namespaced"'),
    ],
)
def test_rules_say_what_they_match_once(fields: Any, error: str) -> None:
    assert errors_of(rules=[rule(**fields)]) == [f"webhooks[0].rules[0]{error}"]


def test_names_of_webhooks_and_conditions_are_unique() -> None:
    assert create(configuration(hook(), hook())).errors == ['webhooks[1].name: Duplicate value: "a.example.io"']
    condition = {"name": "c", "expression": "true"}
    assert errors_of(matchConditions=[condition, condition, {"name": "d"}]) == [
        'webhooks[0].matchConditions[1].name: Duplicate value: "c"',
        "webhooks[0].matchConditions[2].expression: Required value",
    ]


def test_an_update_keeps_what_older_servers_let_pass() -> None:
    old = created(configuration(hook()))
    old["webhooks"][0]["sideEffects"] = "Some"
    old["webhooks"][0]["admissionReviewVersions"] = ["v0"]
    body = copy.deepcopy(old)
    body["webhooks"][0]["timeoutSeconds"] = 3
    written = update(old, body)
    assert written.errors == []
    assert written.obj["metadata"]["generation"] == 2
    fresh = created(configuration(hook()))
    assert len(update(fresh, body).errors) == 2


def test_an_update_of_metadata_is_no_new_generation() -> None:
    old = created(configuration(hook()))
    body = copy.deepcopy(old)
    body["metadata"]["labels"] = {"a": "b"}
    assert update(old, body).obj["metadata"]["generation"] == 1


def test_the_table_counts_webhooks() -> None:
    obj = created(configuration(hook(), hook("b.example.io")))
    obj["metadata"]["creationTimestamp"] = "1970-01-01T00:00:00Z"
    assert row(obj, 60.0) == {"Name": "hooks", "Webhooks": 2, "Age": "60s"}

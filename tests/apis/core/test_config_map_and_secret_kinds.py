"""ConfigMaps and Secrets: keys, sizes, what a type asks for, and what may not change."""

import base64
from typing import Any

import pytest
from kind_writer import BEHAVIORS, create, created, row, update

from watchkeeper.apis.core.secret import default_secret
from watchkeeper.meta.gvk import GroupKind


def config_map(**fields: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, **fields}


def secret(**fields: Any) -> Any:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **fields}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_keys_are_file_names_and_used_once() -> None:
    errors = create(config_map(data={"a b": "", "..": "", "both": "x"}, binaryData={"both": encoded("y")})).errors
    assert errors[0].startswith('data[..]: Invalid value: "..": must not be')
    assert errors[1].startswith('data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric')
    assert errors[2].startswith('data[both]: Invalid value: "both": duplicate of key present in binaryData')


def test_data_has_a_limit() -> None:
    assert create(config_map(data={"a": "x" * (1 << 20)})).errors == []
    (error,) = create(config_map(data={"a": "x" * (1 << 20)}, binaryData={"b": encoded("y")})).errors
    assert error == "[]: Too long: may not be more than 1048576 bytes"
    (error,) = create(secret(data={"a": encoded("x" * ((1 << 20) + 1))})).errors
    assert error == "data: Too long: may not be more than 1048576 bytes"


def test_what_is_immutable_stays() -> None:
    old = created(config_map(data={"a": "1"}, immutable=True))
    assert update(old, config_map(data={"a": "2"}, immutable=True)).errors == [
        "data: Forbidden: field is immutable when `immutable` is set"
    ]
    assert update(old, config_map(data={"a": "1"})).errors == [
        "immutable: Forbidden: field is immutable when `immutable` is set"
    ]
    hidden = created(secret(data={"a": encoded("1")}, immutable=True))
    assert update(hidden, secret(data={"a": encoded("2")}, immutable=True)).errors == [
        "data: Forbidden: field is immutable when `immutable` is set"
    ]


def test_string_data_is_a_way_to_write() -> None:
    obj = created(secret(data={"a": encoded("1"), "b": encoded("2")}, stringData={"b": "3", "c": "4"}))
    assert "stringData" not in obj
    assert obj["data"] == {"a": encoded("1"), "b": encoded("3"), "c": encoded("4")}
    assert update(obj, secret(stringData={"a": "5"})).obj["data"] == {"a": encoded("5")}


def test_string_data_is_data_before_managers_are_told_apart() -> None:
    obj = secret(stringData={"a": "1"})
    default_secret(obj)
    assert obj == secret(data={"a": encoded("1")}, type="Opaque")


def test_the_type_of_a_secret_stays() -> None:
    old = created(secret())
    assert old["type"] == "Opaque"
    assert update(old, secret(type="example.com/other")).errors == [
        'type: Invalid value: "example.com/other": field is immutable'
    ]


@pytest.mark.parametrize(
    ("kind", "data", "errors"),
    [
        ("kubernetes.io/tls", {"tls.crt": ""}, ["data[tls.key]: Required value"]),
        (
            "kubernetes.io/basic-auth",
            {},
            ["data[username]: Required value", "data[password]: Required value"],
        ),
        ("kubernetes.io/basic-auth", {"password": "x"}, []),
        ("kubernetes.io/ssh-auth", {"ssh-privatekey": ""}, ["data[ssh-privatekey]: Required value"]),
        ("kubernetes.io/dockercfg", {}, ["data[.dockercfg]: Required value"]),
        (
            "kubernetes.io/dockercfg",
            {".dockercfg": ""},
            ['data[.dockercfg]: Invalid value: "<secret contents redacted>": unexpected end of JSON input'],
        ),
        ("kubernetes.io/dockercfg", {".dockercfg": f'{{"a":{"1" * 5000}}}'}, []),
        (
            "kubernetes.io/dockerconfigjson",
            {".dockerconfigjson": "{]"},
            [
                'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": '
                "invalid character ']' looking for beginning of object key string"
            ],
        ),
        (
            "kubernetes.io/dockerconfigjson",
            {".dockerconfigjson": "[1]"},
            [
                'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": '
                "json: cannot unmarshal array into Go value of type map[string]interface {}"
            ],
        ),
        ("kubernetes.io/dockerconfigjson", {".dockerconfigjson": '{"auths":{}}'}, []),
        (
            "kubernetes.io/service-account-token",
            {},
            ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
        ),
    ],
)
def test_a_type_asks_for_its_data(kind: str, data: dict[str, str], errors: list[str]) -> None:
    written = create(secret(type=kind, data={key: encoded(text) for key, text in data.items()}))
    assert written.errors == errors


def test_secrets_are_selected_by_type() -> None:
    behavior = BEHAVIORS.of(GroupKind("", "Secret"))
    assert behavior.selectable_fields is not None
    assert behavior.selectable_fields(created(secret())) == {"type": "Opaque"}


def test_tables_count_entries() -> None:
    assert row(created(config_map(data={"a": "1"}, binaryData={"b": encoded("2")})))["Data"] == 2
    shown = row(created(secret(data={"a": encoded("1")})))
    assert (shown["Type"], shown["Data"]) == ("Opaque", 1)

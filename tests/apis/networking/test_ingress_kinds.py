"""Ingresses and their classes."""

import copy
from typing import Any

import pytest
from kind_writer import create, created, row, update, update_status

SERVICE = {"service": {"name": "s", "port": {"number": 80}}}


def ingress(*, annotations: Any = None, **spec: Any) -> Any:
    meta = {"name": "i", **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": meta, "spec": spec}


def rule(host: str = "", **path: Any) -> Any:
    defaults = {"pathType": "Prefix", "path": "/", "backend": SERVICE}
    filled = {key: value for key, value in {**defaults, **path}.items() if value is not None}
    return {"host": host, "http": {"paths": [filled]}}


def ingress_class(**spec: Any) -> Any:
    defaults = {"controller": "example.com/controller"}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IngressClass",
        "metadata": {"name": "c"},
        "spec": {**defaults, **spec},
    }


def test_an_ingress_counts_changes() -> None:
    old = created(ingress(defaultBackend=SERVICE))
    assert old["metadata"]["generation"] == 1
    body = copy.deepcopy(old)
    body["spec"]["rules"] = [rule("a.example")]
    assert update(old, body).obj["metadata"]["generation"] == 2


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({}, ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]),
        (
            {"defaultBackend": {}},
            ['spec.defaultBackend: Invalid value: "": resource or service backend is required'],
        ),
        (
            {"defaultBackend": {"service": {"name": "s"}}},
            ["spec.defaultBackend: Required value: port name or number is required"],
        ),
        (
            {"defaultBackend": {"service": {"name": "s", "port": {"name": "http", "number": 80}}}},
            ['spec.defaultBackend: Invalid value: "": cannot set both port name & port number'],
        ),
        (
            {"defaultBackend": {"resource": {"kind": "K"}}},
            ["spec.defaultBackend.resource.name: Required value"],
        ),
        (
            {"rules": [rule("10.0.0.1")]},
            ['spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address'],
        ),
        ({"rules": [rule("*.example.com")]}, []),
        ({"rules": [{"http": {}}]}, ["spec.rules[0].http.paths: Required value"]),
        (
            {"rules": [rule(pathType=None)]},
            ["spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified"],
        ),
        (
            {"rules": [rule(pathType="Regex")]},
            [
                'spec.rules[0].http.paths[0].pathType: Unsupported value: "Regex": supported values: '
                '"Exact", "ImplementationSpecific", "Prefix"'
            ],
        ),
        (
            {"rules": [rule(path="a//b/..")]},
            [
                'spec.rules[0].http.paths[0].path: Invalid value: "a//b/..": must be an absolute path',
                "spec.rules[0].http.paths[0].path: Invalid value: \"a//b/..\": must not contain '//'",
                "spec.rules[0].http.paths[0].path: Invalid value: \"a//b/..\": cannot end with '/..'",
            ],
        ),
        ({"rules": [rule(pathType="ImplementationSpecific", path="")]}, []),
    ],
)
def test_what_an_ingress_must_say(spec: Any, errors: list[str]) -> None:
    assert create(ingress(**spec)).errors == errors


def test_the_annotation_of_a_class_agrees_and_is_deprecated() -> None:
    annotations = {"kubernetes.io/ingress.class": "old"}
    body = ingress(annotations=annotations, defaultBackend=SERVICE, ingressClassName="new")
    assert create(body).errors == [
        'annotations.kubernetes.io/ingress.class: Invalid value: "old": '
        "must match `ingressClassName` when both are specified"
    ]
    assert create(ingress(annotations=annotations, defaultBackend=SERVICE)).warnings == [
        "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead"
    ]


def test_an_update_may_keep_a_secret_that_has_no_name() -> None:
    wrong = ingress(defaultBackend=SERVICE, tls=[{"secretName": "Not_A_Name"}])
    (error,) = create(wrong).errors
    assert error.startswith('spec.tls[0].secretName: Invalid value: "Not_A_Name"')
    old = created(ingress(defaultBackend=SERVICE))
    assert len(update(old, wrong).errors) == 1
    old["spec"]["tls"] = wrong["spec"]["tls"]
    assert update(old, wrong).errors == []


def test_the_status_holds_addresses_and_names() -> None:
    old = created(ingress(defaultBackend=SERVICE))
    points = [{"ip": "300.0.0.1"}, {"hostname": "10.0.0.1"}]
    assert update_status(old, {"loadBalancer": {"ingress": points}}).errors == [
        'status.loadBalancer.ingress[0].ip: Invalid value: "300.0.0.1": must be a valid IP address, '
        "(e.g. 10.9.8.7 or 2001:db8::ffff)",
        'status.loadBalancer.ingress[1].hostname: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
    ]


def test_the_table_shows_three_hosts() -> None:
    obj = created(ingress(defaultBackend=SERVICE))
    assert (row(obj)["Class"], row(obj)["Hosts"], row(obj)["Ports"]) == ("<none>", "*", "80")
    hosts = [rule(f"{name}.example") for name in "abcd"]
    obj = created(ingress(rules=hosts, tls=[{}], ingressClassName="c"))
    obj["status"] = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    shown = row(obj)
    assert shown["Hosts"] == "a.example,b.example,c.example + 1 more..."
    assert (shown["Class"], shown["Address"], shown["Ports"]) == ("c", "192.0.2.1", "80, 443")


@pytest.mark.parametrize(
    ("spec", "errors"),
    [
        ({"controller": ""}, ["controller: Required value"]),
        (
            {"controller": "example"},
            ['controller: Invalid value: "example": must be a domain-prefixed path (such as "acme.io/foo")'],
        ),
        (
            {"parameters": {"kind": "K", "name": "n", "scope": "Namespace"}},
            ["parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
        ),
        (
            {"parameters": {"kind": "K", "name": "n", "namespace": "x"}},
            ["parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
        ),
        (
            {"parameters": {"kind": "K", "name": "n", "scope": "World"}},
            ['parameters.scope: Unsupported value: "World": supported values: "Cluster", "Namespace"'],
        ),
        ({"parameters": {"kind": "K", "name": "n"}}, []),
    ],
)
def test_what_a_class_must_say(spec: Any, errors: list[str]) -> None:
    assert create(ingress_class(**spec)).errors == [f"spec.{error}" for error in errors]


def test_the_controller_of_a_class_stays() -> None:
    old = created(ingress_class())
    assert update(old, ingress_class(controller="example.com/other")).errors == [
        'spec.controller: Invalid value: "example.com/other": field is immutable'
    ]


def test_the_table_shows_parameters() -> None:
    assert row(created(ingress_class()))["Parameters"] == "<none>"
    parameters = {"apiGroup": "example.com", "kind": "K", "name": "n"}
    assert row(created(ingress_class(parameters=parameters)))["Parameters"] == "K.example.com/n"


@pytest.mark.parametrize(("marked", "shown"), [("true", "c (default)"), ("false", "c")])
def test_the_table_marks_the_default_class(marked: str, shown: str) -> None:
    obj = ingress_class()
    obj["metadata"]["annotations"] = {"ingressclass.kubernetes.io/is-default-class": marked}
    assert row(created(obj))["Name"] == shown

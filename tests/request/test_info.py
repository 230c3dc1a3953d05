"""What a request asks is read off its method, path and query."""

from __future__ import annotations

import pytest

from watchkeeper.request.info import RequestInfo, parse_request_info


def info(method: str, path: str, query: str = "") -> RequestInfo:
    return parse_request_info(method, path, query)


def test_a_path_outside_the_api_is_no_resource() -> None:
    for path in ("/", "/healthz", "/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/version"):
        assert not info("GET", path).is_resource


def test_a_namespaced_object_is_read_to_its_parts() -> None:
    found = info("GET", "/apis/apps/v1/namespaces/ns/deployments/web/scale")
    assert (found.group, found.version, found.namespace) == ("apps", "v1", "ns")
    assert (found.resource, found.name, found.subresource, found.verb) == ("deployments", "web", "scale", "get")
    assert found.parts == ("deployments", "web", "scale")


def test_a_namespace_is_a_resource_of_its_own() -> None:
    found = info("GET", "/api/v1/namespaces/ns")
    assert (found.resource, found.name, found.namespace, found.verb) == ("namespaces", "ns", "ns", "get")
    found = info("PUT", "/api/v1/namespaces/ns/finalize")
    assert (found.resource, found.name, found.subresource) == ("namespaces", "ns", "finalize")


@pytest.mark.parametrize(
    ("method", "path", "query", "verb"),
    [
        ("GET", "/api/v1/pods", "", "list"),
        ("GET", "/api/v1/pods", "watch=true", "watch"),
        ("GET", "/api/v1/pods", "watch=", "watch"),
        ("GET", "/api/v1/pods", "watch=0", "list"),
        ("GET", "/api/v1/pods", "watch=False", "list"),
        ("GET", "/api/v1/namespaces/n/pods/p", "watch=true", "get"),
        ("POST", "/api/v1/namespaces/n/pods", "", "create"),
        ("PUT", "/api/v1/namespaces/n/pods/p", "", "update"),
        ("PATCH", "/api/v1/namespaces/n/pods/p", "", "patch"),
        ("DELETE", "/api/v1/namespaces/n/pods/p", "", "delete"),
        ("DELETE", "/api/v1/namespaces/n/pods", "", "deletecollection"),
    ],
)
def test_the_verb_follows_from_method_and_form(method: str, path: str, query: str, verb: str) -> None:
    assert info(method, path, query).verb == verb


def test_an_empty_namespace_segment_means_all_namespaces() -> None:
    found = info("GET", "/api/v1/namespaces//configmaps")
    assert (found.resource, found.namespace, found.verb) == ("configmaps", "", "list")


def test_an_empty_segment_elsewhere_is_a_resource_without_a_name() -> None:
    assert info("GET", "/api/v1//namespaces").resource == ""


def test_a_field_selector_on_the_name_names_the_object_for_authorization() -> None:
    assert info("GET", "/api/v1/namespaces/n/secrets", "fieldSelector=metadata.name%3Da").name == "a"
    assert info("GET", "/api/v1/namespaces/n/secrets", "fieldSelector=metadata.name%21%3Da").name == ""
    assert info("DELETE", "/api/v1/namespaces/n/secrets", "fieldSelector=metadata.name%3Da").name == ""


def test_old_watch_paths_are_recognized() -> None:
    found = info("GET", "/api/v1/watch/namespaces/n/pods")
    assert found.deprecated_watch
    assert (found.verb, found.resource, found.namespace) == ("watch", "pods", "n")

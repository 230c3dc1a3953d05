"""What other API servers tell of their versions, brought into one form."""

from __future__ import annotations

import pytest

from watchkeeper.meta.gvk import GroupVersion
from watchkeeper.server.aggregation.discovery_form import version_of_list, versions_of


def test_versions_are_found_in_the_aggregated_form_and_always_say_a_kind() -> None:
    resource = {"resource": "lamps", "scope": "Namespaced", "singularResource": "lamp", "verbs": ["get"], "more": 1}
    bare = {
        "resource": "a",
        "scope": "Cluster",
        "verbs": None,
        "subresources": [{"subresource": "b", "verbs": ["get"]}],
    }
    document = {
        "items": [{"metadata": {"name": "far.io"}, "versions": [{"version": "v1", "resources": [resource, bare]}]}]
    }
    nobody = {"group": "", "version": "", "kind": ""}
    found = versions_of(document)[GroupVersion("far.io", "v1")]["resources"]
    assert found[0] == {
        "resource": "lamps",
        "responseKind": nobody,
        "scope": "Namespaced",
        "singularResource": "lamp",
        "verbs": ["get"],
    }
    assert found[1]["subresources"] == [{"subresource": "b", "responseKind": nobody, "verbs": ["get"]}]


def test_the_plain_form_has_subresources_among_resources() -> None:
    listed = [
        {
            "name": "lamps/scale",
            "kind": "Scale",
            "group": "autoscaling",
            "version": "v1",
            "namespaced": True,
            "verbs": ["get"],
        },
        {
            "name": "lamps",
            "kind": "Lamp",
            "singularName": "lamp",
            "namespaced": True,
            "verbs": ["list"],
            "shortNames": ["lp"],
        },
        {"name": "orphans/status", "kind": "", "namespaced": False, "verbs": ["get"]},
    ]
    lamps, orphans = version_of_list({"resources": listed}, "v1")["resources"]
    assert (lamps["responseKind"]["kind"], lamps["shortNames"], lamps["scope"]) == ("Lamp", ["lp"], "Namespaced")
    [scale] = lamps["subresources"]
    assert scale["responseKind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert (orphans["resource"], orphans["verbs"], orphans["responseKind"]["kind"]) == ("orphans", None, "")
    assert version_of_list({"resources": []}, "v1") == {"version": "v1"}


@pytest.mark.parametrize(
    "document",
    [
        {"items": 1},
        {"items": ["a"]},
        {"items": [{"metadata": "far.io"}]},
        {"items": [{"metadata": {"name": "a"}, "versions": [{"version": 1}]}]},
        {"items": [{"metadata": {"name": "a"}, "versions": [{"version": "v1", "resources": [{"verbs": "get"}]}]}]},
    ],
)
def test_what_is_none_of_it_is_refused(document: object) -> None:
    with pytest.raises(ValueError, match=" is no "):
        versions_of(document)


def test_a_subresource_is_where_its_resource_is() -> None:
    listed = [{"name": "a", "namespaced": True}, {"name": "a/b", "namespaced": False}]
    with pytest.raises(ValueError, match="scope do not match"):
        version_of_list({"resources": listed}, "v1")

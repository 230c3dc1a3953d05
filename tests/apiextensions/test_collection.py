"""Custom objects as owners and dependents of the garbage collector, whose kinds come, change and go."""

from __future__ import annotations

from typing import Any

from tests.waiting import eventually

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MERGE = "application/merge-patch+json"


def owned(api: Any, name: str, owner: dict[str, Any]) -> dict[str, Any]:
    """A Widget that belongs to another."""
    reference = {
        "apiVersion": f"{api.group}/v1",
        "kind": "Widget",
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
    }
    widget: dict[str, Any] = api.widget(name)
    widget["metadata"]["ownerReferences"] = [reference]
    return widget


def test_dependents_of_a_kind_that_is_new_or_has_changed_go_with_their_owner(api: Any, kit: Any) -> None:
    path = api.install(kit.version())
    owner = api.call("POST", path, api.widget("owner")).body
    assert api.call("POST", path, owned(api, "dependent", owner)).status == 201
    assert api.call("DELETE", f"{path}/owner").status == 200
    eventually(lambda: api.call("GET", f"{path}/dependent").status == 404)

    changed = {"spec": {"versions": [kit.version(spec=kit.obj(size={"type": "integer"}))]}}
    assert api.call("PATCH", f"{DEFINITIONS}/widgets.{api.group}", changed, MERGE).status == 200
    owner = api.call("POST", path, api.widget("owner")).body
    assert api.call("POST", path, owned(api, "dependent", owner)).status == 201
    assert api.call("DELETE", f"{path}/owner").status == 200
    eventually(lambda: api.call("GET", f"{path}/dependent").status == 404)


def test_owners_may_be_named_at_any_version(api: Any, kit: Any) -> None:
    path = api.install(kit.version(), kit.version("v2", storage=False))
    for policy in ("Background", "Foreground"):
        owner = api.call("POST", path, api.widget("owner")).body
        dependent = owned(api, "dependent", owner)
        dependent["metadata"]["ownerReferences"][0].update(apiVersion=f"{api.group}/v2", blockOwnerDeletion=True)
        assert api.call("POST", path, dependent).status == 201
        # Whoever has seen the last object's end has seen the dependent, too: it is left alone while its owner is there.
        stray = api.widget("stray")
        stray["metadata"]["ownerReferences"] = [{**dependent["metadata"]["ownerReferences"][0], "uid": "another"}]
        assert api.call("POST", path, stray).status == 201
        eventually(lambda: api.call("GET", f"{path}/stray").status == 404)
        assert api.call("GET", f"{path}/dependent").status == 200
        assert api.call("DELETE", f"{path}/owner?propagationPolicy={policy}").status == 200
        eventually(lambda: api.call("GET", f"{path}/dependent").status == 404)
        eventually(lambda: api.call("GET", f"{path}/owner").status == 404)

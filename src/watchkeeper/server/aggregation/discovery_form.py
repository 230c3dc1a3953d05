"""What another API server tells of its versions, in the form in which this server tells of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.meta.gvk import GroupVersion

Object = dict[str, Any]
_NO_KIND = {"group": "", "version": "", "kind": ""}


def versions_of(document: Any) -> dict[GroupVersion, Object]:
    """The versions in a document of the aggregated form. Raises ValueError for what is none."""
    found: dict[GroupVersion, Object] = {}
    for group in _objects(document, "items"):
        name = _text(_object(group, "metadata"), "name")
        for version in _objects(group, "versions"):
            at = GroupVersion(name, _text(version, "version"))
            resources = [_resource(each) for each in _objects(version, "resources")]
            found[at] = {"version": at.version, **({"resources": resources} if resources else {})}
    return found


def version_of_list(document: Any, version: str) -> Object:
    """A version in a list of resources of the plain form. Raises ValueError for what is none."""
    listed = _objects(document, "resources")
    found: dict[str, Object] = {}
    for each in listed:
        name = _text(each, "name")
        if "/" not in name:
            found[name] = _from_list(each)
    for each in listed:
        parent, slash, name = _text(each, "name").partition("/")
        if slash:
            _add_subresource(found, parent, name, each)
    return {"version": version, **({"resources": list(found.values())} if found else {})}


def _from_list(each: Mapping[str, Any]) -> Object:
    entry = {"resource": _text(each, "name"), "responseKind": _kind(each), "scope": _scope(each)}
    return {**entry, "singularResource": _text(each, "singularName"), **_lists(each)}


def _add_subresource(found: dict[str, Object], parent: str, name: str, each: Mapping[str, Any]) -> None:
    of = found.get(parent)
    if of is None:  # a resource that can only be reached by way of a subresource
        bare = {"resource": parent, "responseKind": _NO_KIND, "scope": _scope(each), "singularResource": ""}
        of = found[parent] = {**bare, "verbs": None}
    if of["scope"] != _scope(each):
        raise ValueError(
            f"Error: Parent {parent} (scope: {of['scope']}) and subresource {name} (scope: {_scope(each)})"
            " scope do not match"
        )
    kind = _kind(each) if _text(each, "kind") else _NO_KIND
    subresource = {"subresource": name, "responseKind": kind, "verbs": _texts(each, "verbs")}
    of.setdefault("subresources", []).append(subresource)


def _resource(each: Mapping[str, Any]) -> Object:
    entry = {
        "resource": _text(each, "resource"),
        "responseKind": _kind(_object(each, "responseKind")),
        "scope": _text(each, "scope"),
        "singularResource": _text(each, "singularResource"),
        **_lists(each),
    }
    subresources = [_subresource(sub) for sub in _objects(each, "subresources")]
    return {**entry, **({"subresources": subresources} if subresources else {})}


def _subresource(each: Mapping[str, Any]) -> Object:
    accepted = [_kind(kind) for kind in _objects(each, "acceptedTypes")]
    entry = {"subresource": _text(each, "subresource"), "responseKind": _kind(_object(each, "responseKind"))}
    return {**entry, **({"acceptedTypes": accepted} if accepted else {}), "verbs": _texts(each, "verbs")}


def _lists(each: Mapping[str, Any]) -> Object:
    given = {name: _texts(each, name) for name in ("shortNames", "categories")}
    return {"verbs": _texts(each, "verbs"), **{name: value for name, value in given.items() if value}}


def _scope(each: Mapping[str, Any]) -> str:
    return "Namespaced" if each.get("namespaced") is True else "Cluster"


def _kind(each: Mapping[str, Any]) -> Object:
    return {name: _text(each, name) for name in ("group", "version", "kind")}


def _object(of: Any, name: str) -> Mapping[str, Any]:
    found = of.get(name)
    if found is not None and not isinstance(found, dict):
        raise ValueError(f"{name} is no object")
    return found or {}


def _objects(of: Any, name: str) -> list[Mapping[str, Any]]:
    found = of.get(name) if isinstance(of, dict) else of
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise ValueError(f"{name} is no list of objects")
    return found


def _text(of: Mapping[str, Any], name: str) -> str:
    found = of.get(name)
    if found is not None and not isinstance(found, str):
        raise ValueError(f"{name} is no text")
    return found or ""


def _texts(of: Mapping[str, Any], name: str) -> list[str] | None:
    found = of.get(name)
    if found is not None and not (isinstance(found, list) and all(isinstance(each, str) for each in found)):
        raise ValueError(f"{name} is no list of texts")
    return found

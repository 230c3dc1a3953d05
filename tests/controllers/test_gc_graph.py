"""What changes of objects mean for the garbage collector."""

from __future__ import annotations

from typing import Any

from watchkeeper.controllers.gc_graph import Graph, Identity, Owner, Work


def observe(graph: Graph, name: str, *owners: tuple[str, bool], **meta: Any) -> Work:
    """Show the graph an object whose uid is its name; owners are named with whether they are blocked."""
    references = [
        {"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": owner, "blockOwnerDeletion": blocks}
        for owner, blocks in owners
    ]
    place = Identity("v1", "ConfigMap", "ns", name)
    return graph.observe(place, {"uid": name, "name": name, "ownerReferences": references, **meta})


def names(work: Work) -> set[str]:
    return {node.uid for node in work.delete}


def test_all_dependents_are_looked_at_when_their_owner_begins_to_wait_for_them() -> None:
    graph = Graph()
    observe(graph, "a")
    observe(graph, "blocking", ("a", True))
    observe(graph, "free", ("a", False))
    due = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]}
    assert names(observe(graph, "a", **due)) == {"a", "blocking", "free"}
    assert names(observe(graph, "a", **due)) == set()
    owner = graph.get("a")
    assert owner is not None
    assert [node.uid for node in owner.blocking_dependents()] == ["blocking"]


def test_dependents_are_looked_at_when_their_owner_is_gone() -> None:
    graph = Graph()
    observe(graph, "a")
    assert names(observe(graph, "b", ("a", False))) == {"b"}
    assert names(graph.forget("a")) == {"b"}


def test_an_owner_that_orphans_has_its_dependents_freed() -> None:
    graph = Graph()
    observe(graph, "b", ("a", True))
    work = observe(graph, "a", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["orphan"])
    assert [node.uid for node in work.orphan] == ["a"]
    assert names(work) == set()


def test_an_object_that_owns_itself_leaves_nothing_to_look_at() -> None:
    graph = Graph()
    observe(graph, "a", ("a", True))
    observe(graph, "b", ("a", True))
    assert names(graph.forget("a")) == {"b"}
    assert names(graph.forget("b")) == set()
    assert "a" not in graph


def test_only_references_to_what_was_seen_to_go_need_no_question() -> None:
    graph = Graph()
    observe(graph, "a")
    observe(graph, "b", ("a", False))
    graph.forget("a", gone=False)
    assert not graph.is_gone(Owner("v1", "ConfigMap", "a", "a", blocks=False), "ns")
    graph.forget("a")
    assert graph.is_gone(Owner("v1", "ConfigMap", "a", "a", blocks=False), "ns")
    assert not graph.is_gone(Owner("v1", "Secret", "a", "a", blocks=False), "ns")
    assert not graph.is_gone(Owner("v1", "ConfigMap", "other", "a", blocks=False), "ns")
    assert not graph.is_gone(Owner("v1", "ConfigMap", "a", "a", blocks=False), "elsewhere")
    observe(graph, "a")
    assert not graph.is_gone(Owner("v1", "ConfigMap", "a", "a", blocks=False), "ns")


def virtual(graph: Graph, kind: str = "ConfigMap") -> set[str]:
    return {node.uid for node in graph.virtual("", kind)}


def test_virtual_nodes_are_found_by_their_kind_until_they_are_seen_to_exist_or_to_go() -> None:
    graph = Graph()
    observe(graph, "b", ("a", False), ("gone", False), ("there", False), ("left", False))
    assert virtual(graph) == {"a", "gone", "there", "left"}
    assert virtual(graph, "Secret") == set()
    observe(graph, "there")
    graph.forget("gone", place=Identity("v1", "ConfigMap", "elsewhere", "gone"))
    observe(graph, "b", ("a", False), ("gone", False), ("there", False))
    assert virtual(graph) == {"a"}
    graph.forget("there", gone=False)
    assert virtual(graph) == {"a", "there"}
    graph.forget("b")
    assert virtual(graph) == set()
    assert repr(graph) == "<Graph of 0 nodes>"

"""The graph of owners and dependents, and what each change of an object means for it. No effects here.

A node is kept only for objects that have owners, are owned, or are being deleted with a finalizer of the collector: the
many objects that are none of that cost a look at their bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Object = dict[str, Any]

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"


class Identity(NamedTuple):
    """Where an object is, as far as references tell."""

    api_version: str
    kind: str
    namespace: str
    name: str


class Owner(NamedTuple):
    """A reference to an owner (metav1.OwnerReference)."""

    api_version: str
    kind: str
    name: str
    uid: str
    blocks: bool


@dataclass(eq=False, slots=True)
class Node:
    """An object, or (`virtual`) one that is known only because another one refers to it."""

    uid: str
    identity: Identity
    owners: tuple[Owner, ...] = ()
    dependents: set[Node] = field(default_factory=set)
    being_deleted: bool = False
    deleting_dependents: bool = False
    """Being deleted in the foreground: it goes after its dependents."""
    orphaning: bool = False
    """Being deleted with its dependents to stay."""
    virtual: bool = False
    gone: bool = False
    """Seen to be deleted: nobody has to be asked whether it exists, which its kind may not either."""

    def __repr__(self) -> str:
        return f"<Node {self.identity.kind} {self.identity.namespace}/{self.identity.name} {self.uid}>"

    def blocking_dependents(self) -> list[Node]:
        """The dependents whose references ask that this one waits for them."""
        return [d for d in self.dependents if any(o.uid == self.uid and o.blocks for o in d.owners)]


@dataclass(slots=True)
class Work:
    """What a change makes necessary: nodes to look at for deletion, and owners whose dependents are to be freed."""

    delete: list[Node] = field(default_factory=list)
    orphan: list[Node] = field(default_factory=list)


class Graph:
    """All nodes by uid."""

    def __init__(self) -> None:
        self._nodes: dict[str, Node] = {}
        self._virtual: dict[tuple[str, str], dict[str, Node]] = {}
        """Group and kind -> the virtual nodes by uid."""

    def __repr__(self) -> str:
        return f"<Graph of {len(self._nodes)} nodes>"

    def __contains__(self, uid: str) -> bool:
        return uid in self._nodes

    def get(self, uid: str) -> Node | None:
        """The node of a uid."""
        return self._nodes.get(uid)

    def observe(self, identity: Identity, meta: Mapping[str, Any]) -> Work:
        """Take an object as it is now into the graph."""
        uid = meta["uid"]
        owners = read_owners(meta)
        work = Work()
        node = self._nodes.get(uid)
        if node is None:
            node = self._nodes[uid] = Node(uid, identity)
        elif node.virtual or node.identity != identity:
            # It exists after all, perhaps elsewhere than its dependents say; those are to be looked at again.
            self._remove(uid)
            self._nodes[uid] = node
            node.virtual = node.gone = False
            if node.identity != identity:
                node.identity = identity
                work.delete += node.dependents
        self._set_owners(node, owners, work)
        self._set_deletion(node, meta, work)
        self._drop_if_idle(node)
        return work

    def _set_owners(self, node: Node, owners: tuple[Owner, ...], work: Work) -> None:
        if owners == node.owners:
            return
        before = {o.uid: o for o in node.owners}
        after = {o.uid: o for o in owners}
        node.owners = owners
        for uid in before.keys() - after.keys():
            self._release(self._nodes.get(uid), node, work)
        for uid, reference in after.items():
            owner = self._nodes.get(uid)
            if owner is None:
                place = Identity(reference.api_version, reference.kind, node.identity.namespace, reference.name)
                owner = self._add_virtual(Node(uid, place, virtual=True))
            owner.dependents.add(node)
            if uid in before and before[uid].blocks and not reference.blocks and owner.deleting_dependents:
                work.delete.append(owner)
        if owners:
            work.delete.append(node)

    def _release(self, owner: Node | None, node: Node, work: Work) -> None:
        if owner is None:
            return
        owner.dependents.discard(node)
        if owner.deleting_dependents:
            work.delete.append(owner)
        self._drop_if_idle(owner)

    @staticmethod
    def _set_deletion(node: Node, meta: Mapping[str, Any], work: Work) -> None:
        node.being_deleted = meta.get("deletionTimestamp") is not None
        finalizers: Sequence[str] = meta.get("finalizers") or ()
        foreground = node.being_deleted and FOREGROUND in finalizers
        if foreground and not node.deleting_dependents:
            node.deleting_dependents = True
            work.delete += node.dependents
            work.delete.append(node)
        elif not foreground:
            node.deleting_dependents = False
        node.orphaning = node.being_deleted and ORPHAN in finalizers
        if node.orphaning:
            work.orphan.append(node)

    def virtual(self, group: str, kind: str) -> list[Node]:
        """The virtual nodes of a kind, at whatever version they are known, that nobody saw go."""
        return [node for node in self._virtual.get((group, kind), {}).values() if not node.gone]

    def _add_virtual(self, node: Node) -> Node:
        self._nodes[node.uid] = node
        self._virtual.setdefault(_kind_of(node), {})[node.uid] = node
        return node

    def _remove(self, uid: str) -> Node | None:
        node = self._nodes.pop(uid, None)
        if node is not None and node.virtual:
            alike = self._virtual[_kind_of(node)]
            del alike[uid]
            if not alike:
                del self._virtual[_kind_of(node)]
        return node

    def is_gone(self, owner: Owner, namespace: str) -> bool:
        """Whether the object that a reference in a namespace names was seen to be deleted."""
        node = self._nodes.get(owner.uid)
        if node is None or not node.gone:
            return False
        place = node.identity
        return (
            place.namespace in ("", namespace)
            and (place.kind, place.name) == (owner.kind, owner.name)
            and _group(place.api_version) == _group(owner.api_version)
        )

    def forget(self, uid: str, *, gone: bool = True, place: Identity | None = None) -> Work:
        """The object is gone or no longer followed: its dependents are to be looked at, and owners that waited.

        `place` is where it was, if dependents may have named another.
        """
        work = Work()
        node = self._remove(uid)
        if node is None:
            return work
        node.dependents.discard(node)
        for reference in node.owners:
            self._release(self._nodes.get(reference.uid), node, work)
        work.delete += node.dependents
        if node.dependents:
            # Kept as one that is known by reference only, until its dependents are gone or have let go.
            place = place or node.identity
            self._add_virtual(Node(uid, place, dependents=node.dependents, virtual=True, gone=gone))
        return work

    def _drop_if_idle(self, node: Node) -> None:
        if not node.owners and not node.dependents and not node.deleting_dependents and not node.orphaning:
            self._remove(node.uid)


def _kind_of(node: Node) -> tuple[str, str]:
    return _group(node.identity.api_version), node.identity.kind


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def read_owners(meta: Mapping[str, Any]) -> tuple[Owner, ...]:
    """The owner references of an object."""
    return tuple(
        Owner(
            o.get("apiVersion", ""),
            o.get("kind", ""),
            o.get("name", ""),
            o.get("uid", ""),
            bool(o.get("blockOwnerDeletion")),
        )
        for o in meta.get("ownerReferences") or ()
    )

"""What resources the built-in API groups serve: the facts that discovery tells."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource


@dataclass(frozen=True, slots=True)
class SubresourceInfo:
    """A subresource. `kind` is what its bodies are: the parent's own kind, or another such as autoscaling/v1 Scale."""

    name: str
    kind: GroupVersionKind
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResourceInfo:
    """One resource at one version."""

    gvr: GroupVersionResource
    kind: GroupVersionKind
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[SubresourceInfo, ...] = ()

    @property
    def group_resource(self) -> GroupResource:
        """The resource without its version."""
        return self.gvr.group_resource

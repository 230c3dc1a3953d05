"""Group, version and kind or resource: the names of things."""

from __future__ import annotations

from typing import NamedTuple


class GroupVersion(NamedTuple):
    """A group at a version; the core group is ""."""

    group: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """Read an apiVersion such as `apps/v1` or `v1`. Raises ValueError on more than one slash."""
        parts = api_version.split("/")
        if len(parts) == 1:
            return cls("", parts[0])
        if len(parts) == 2:
            return cls(parts[0], parts[1])
        raise ValueError(f"unexpected GroupVersion string: {api_version}")


class GroupKind(NamedTuple):
    """A kind within its group, at no version in particular."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupResource(NamedTuple):
    """A resource (lower-case plural) within its group; prints as `deployments.apps`."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupVersionKind(NamedTuple):
    """What an object says of itself with apiVersion and kind."""

    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> GroupVersion:
        """Its group at its version."""
        return GroupVersion(self.group, self.version)

    @property
    def group_kind(self) -> GroupKind:
        """Its kind without the version."""
        return GroupKind(self.group, self.kind)

    @property
    def api_version(self) -> str:
        """The text of the apiVersion field."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.group}/{self.version}, Kind={self.kind}"


class GroupVersionResource(NamedTuple):
    """What a path names."""

    group: str
    version: str
    resource: str

    @property
    def group_version(self) -> GroupVersion:
        """Its group at its version."""
        return GroupVersion(self.group, self.version)

    @property
    def group_resource(self) -> GroupResource:
        """Its resource without the version."""
        return GroupResource(self.group, self.resource)

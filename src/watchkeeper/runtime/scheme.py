"""The scheme: every kind at every version, how it is decoded, defaulted and converted.

Conversion is hub and spoke. The hub version of a kind is its storage version; an object converts to another version
through the hub. Objects are dicts that carry kind and apiVersion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind
from watchkeeper.runtime.alike import Specs
from watchkeeper.runtime.schema import Schema

Object = dict[str, Any]
Decoder = Callable[[Object, "list[str] | None"], Object]
"""Takes a freshly parsed body, prunes and normalizes it in place, and returns it: unknown fields and nulls are dropped,
zero values left out or filled in as the kind's encoder would. What is normal already is not touched, so parts may be
shared with a decoded object. A struct with empty lists or maps is replaced by one that remembers them
(`with_empties`). Appends to the list, if one is given, one `unknown field "path"` text per unknown field,
in order. Raises DecodeError where a value has the wrong type; the body may then be changed in part."""


class DecodeError(Exception):
    """A body that is not an object of its kind. The message is what the reference would say."""


class NotRegistered(LookupError):
    """The scheme has no such kind."""

    def __init__(self, gvk: GroupVersionKind) -> None:
        super().__init__(f"no kind {go_quote(gvk.kind)} is registered for version {go_quote(gvk.api_version)}")
        self.gvk = gvk


@dataclass(eq=False, slots=True, kw_only=True)
class Kind:
    """One kind at one version."""

    gvk: GroupVersionKind
    hub: GroupVersionKind
    schema: Schema
    decode: Decoder
    builtin: bool = True
    """Whether it follows the encoding rules of compiled-in types; custom resources keep what was sent."""
    default: Callable[[Object], None] | None = None
    """Fills in defaults, in place, at this version. Raises DecodeError for what no other version could hold."""
    to_hub: Callable[[Object], Object] | None = None
    """Converts a fresh object of this version to the hub version; may reuse its parts. None at the hub itself."""
    from_hub: Callable[[Object], Object] | None = None
    """Converts a fresh object of the hub version to this one; may reuse its parts."""
    field_labels: Mapping[str, str] | None = None
    """The field labels of this version and what the hub version calls them; None where they are the same."""
    warning: str = ""
    """Sent with every response at this version, such as a deprecation."""
    retired: Mapping[str, str] = field(default_factory=dict)
    """Versions (`group/version`) that are served no more, at which an object of the kind is still recognized.

    With each a regular expression for the paths of the fields that are known at that version alone, "" for none.
    """
    accepts: frozenset[str] = frozenset()
    """Those of them at which a request may carry the object, too."""
    specs: Specs | None = None
    """Where many objects have the same spec: what is known of specs."""

    def __repr__(self) -> str:
        return f"<Kind {self.gvk.api_version} {self.gvk.kind}>"


class Scheme:
    """All kinds known to one server. Custom resources come and go; built-in kinds stay."""

    def __init__(self, kinds: Iterable[Kind] = ()) -> None:
        self._kinds: dict[GroupVersionKind, Kind] = {}
        for kind in kinds:
            self.register(kind)

    def register(self, kind: Kind) -> None:
        """Add a kind at a version, or replace it."""
        self._kinds[kind.gvk] = kind

    def unregister(self, gvk: GroupVersionKind) -> None:
        """Forget a kind at a version; unknown ones are ignored."""
        self._kinds.pop(gvk, None)

    def kind(self, gvk: GroupVersionKind) -> Kind:
        """Look a kind up. Raises NotRegistered."""
        try:
            return self._kinds[gvk]
        except KeyError:
            raise NotRegistered(gvk) from None

    def recognizes(self, gvk: GroupVersionKind) -> bool:
        """Whether the kind is known at that version."""
        return gvk in self._kinds

    def versions(self, group_kind: GroupKind) -> list[str]:
        """All versions of a kind, in the order of registration."""
        return [g.version for g in self._kinds if g.group_kind == group_kind]

    def convert(self, obj: Object, to: GroupVersionKind) -> Object:
        """Convert an object to another version of its kind, through the hub. The same version returns it unchanged.

        `obj` is consumed: the result may share its parts. Raises NotRegistered.
        """
        source = self.kind(gvk_of(obj))
        if source.gvk == to:
            return obj
        target = self.kind(to)
        hub = source.to_hub(obj) if source.to_hub is not None else obj
        out = target.from_hub(hub) if target.from_hub is not None else hub
        out["kind"], out["apiVersion"] = to.kind, to.api_version
        return out

    def to_hub(self, obj: Object) -> Object:
        """Convert an object to its kind's hub version. Consumes it."""
        return self.convert(obj, self.kind(gvk_of(obj)).hub)


def gvk_of(obj: Object) -> GroupVersionKind:
    """What an object says it is; empty texts for what it does not say."""
    api_version = obj.get("apiVersion") or ""
    group, _, version = api_version.rpartition("/")
    return GroupVersionKind(group, version, obj.get("kind") or "")

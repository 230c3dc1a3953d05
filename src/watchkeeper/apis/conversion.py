"""What a kind module says about a version that is not the one stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from watchkeeper.meta.gvk import GroupVersionKind

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Conversion:
    """From one version of a kind to its hub version and back.

    Both functions take a fresh, decoded object, may use its parts, and need not set kind and apiVersion. What a field
    shows that nobody set is filled in after them.
    """

    hub: GroupVersionKind
    to_hub: Callable[[Object], Object]
    from_hub: Callable[[Object], Object]
    field_labels: Mapping[str, str] | None = None
    """The field labels of this version and what the hub version calls them; None where they are the same."""

"""A custom kind at one version, as decoding and field ownership see it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from watchkeeper.apiextensions.schema.nodes import to_schema
from watchkeeper.apiextensions.serving.version import CompiledVersion
from watchkeeper.runtime.schema import Schema
from watchkeeper.runtime.scheme import Kind

_NO_VERSIONS: Mapping[str, str] = MappingProxyType({})


class CustomKind(Kind):
    """A kind whose schema becomes nodes when somebody asks for them: only writes do."""

    __slots__ = ("_nodes", "_version")

    def __init__(self, version: CompiledVersion) -> None:
        self._version = version
        self._nodes: Schema | None = None
        self.gvk = self.hub = version.gvk
        self.decode = version.decode
        self.default = version.default
        self.builtin = False
        self.to_hub = self.from_hub = None
        self.warning = ""
        self.field_labels = None
        self.retired = _NO_VERSIONS
        self.accepts = frozenset()
        self.specs = None

    @property
    def schema(self) -> Schema:  # type: ignore[override]
        """The nodes, made at first use."""
        if self._nodes is None:
            self._nodes = to_schema(self._version.root, self.gvk.kind)
        return self._nodes

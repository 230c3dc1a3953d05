"""The scheme of built-in kinds."""

from __future__ import annotations

from collections.abc import Callable

from watchkeeper.apis.behavior import Behaviors
from watchkeeper.apis.core.connect_options import connect_kinds
from watchkeeper.apis.registry import Object, contributions
from watchkeeper.apis.retired import retired_versions
from watchkeeper.apis.schema_data import schema_data
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.runtime.alike import Specs
from watchkeeper.runtime.decode import compile_decoder
from watchkeeper.runtime.scheme import Decoder, Kind, Scheme

_ACCEPTED = {GroupVersionKind("policy", "v1", "Eviction"): frozenset({"policy/v1beta1"})}
"""Kinds that requests may still carry at versions that are served no more: older clients evict like that."""


def builtin_scheme() -> Scheme:
    """A scheme of every built-in kind at every served version. Decoders are compiled at their first use."""
    return Scheme([*(_kind(gvk) for gvk in schema_data().kinds), *connect_kinds()])


def builtin_behaviors() -> Behaviors:
    """The behavior of the built-in kinds."""
    return contributions().behaviors


def _kind(gvk: GroupVersionKind) -> Kind:
    schema = schema_data().kinds[gvk]
    decode = compile_decoder(schema)
    found = contributions()
    kind = Kind(gvk=gvk, hub=gvk, schema=schema, decode=decode, default=found.defaults.get(gvk))
    default_rest = found.rest_defaults.get(gvk)
    if default_rest is not None:
        kind.specs = Specs(default_rest)
    kind.warning = found.warnings.get(gvk, "")
    kind.retired = retired_versions(gvk)
    kind.accepts = _ACCEPTED.get(gvk, kind.accepts)
    conversion = found.conversions.get(gvk)
    if conversion is not None:
        kind.hub = conversion.hub
        kind.field_labels = conversion.field_labels
        kind.to_hub = _filled(conversion.to_hub, compile_decoder(schema_data().kinds[conversion.hub]))
        kind.from_hub = _filled(conversion.from_hub, decode)
    return kind


def _filled(convert: Callable[[Object], Object], decode: Decoder) -> Callable[[Object], Object]:
    """A conversion whose outcome shows all that the encoder of its version shows."""
    return lambda obj: decode(convert(obj), None)

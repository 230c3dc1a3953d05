"""EndpointSlices as they were stored at v1beta1: where an endpoint is was said in a map."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]

_ZONE, _HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def slice_at_v1(endpoint_slice: Object) -> Object:
    """An EndpointSlice of v1beta1 as v1 has it (pkg/apis/discovery/v1beta1/conversion.go). Consumes it."""
    for endpoint in endpoint_slice.get("endpoints") or ():
        topology = endpoint.pop("topology", None) or {}
        zone = topology.pop(_ZONE, None)
        if zone is not None:
            endpoint["zone"] = zone
        # A host of another name than the node is told of still.
        if topology.get(_HOST) is not None and topology[_HOST] == endpoint.get("nodeName"):
            del topology[_HOST]
        if topology:
            endpoint["deprecatedTopology"] = topology
    return endpoint_slice

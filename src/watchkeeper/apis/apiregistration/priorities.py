"""By what discovery is sorted: the priority of a group and that of a version in it, the highest first."""

from __future__ import annotations

from collections.abc import Mapping

from watchkeeper.apis.apiregistration.schemas import GROUP
from watchkeeper.meta.gvk import GroupVersion

CUSTOM = (1000, 100)
"""Those of every version of custom resources."""
OTHER = (1000, 15)
"""Those of what has none of its own."""
_FIRST = (20001, 0)
"""Those of the group of APIServices, which comes before all that these may ask for."""
_GROUPS: Mapping[str, tuple[int, int]] = {
    "": (18000, 1),
    "apps": (17800, 15),
    "events.k8s.io": (17750, 15),
    "authentication.k8s.io": (17700, 15),
    "authorization.k8s.io": (17600, 15),
    "autoscaling": (17500, 15),
    "batch": (17400, 15),
    "certificates.k8s.io": (17300, 15),
    "networking.k8s.io": (17200, 15),
    "policy": (17100, 15),
    "rbac.authorization.k8s.io": (17000, 15),
    "storage.k8s.io": (16800, 15),
    "apiextensions.k8s.io": (16700, 15),
    "admissionregistration.k8s.io": (16700, 15),
    "scheduling.k8s.io": (16600, 15),
    "coordination.k8s.io": (16500, 15),
    "node.k8s.io": (16300, 15),
    "discovery.k8s.io": (16200, 15),
    "resource.k8s.io": (16200, 21),
    "flowcontrol.apiserver.k8s.io": (16100, 21),
}
"""Those of the groups and of their version v1."""
BUILTIN: Mapping[GroupVersion, tuple[int, int]] = {
    **{GroupVersion(group, "v1"): priorities for group, priorities in _GROUPS.items()},
    GroupVersion("autoscaling", "v2"): (_GROUPS["autoscaling"][0], 30),
}
"""Those of the built-in versions that there are APIServices of."""


def priorities_of(at: GroupVersion) -> tuple[int, int]:
    """Those of a version that is built in."""
    return _FIRST if at.group == GROUP else BUILTIN.get(at, OTHER)

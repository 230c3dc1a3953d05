"""Fields of pod specs that belong to features which are off in Kubernetes 1.36: only who has one already keeps it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from watchkeeper.apis.behavior import KindBehavior

Object = dict[str, Any]
SpecOf = Callable[[Object], Object]

_GROUP = "schedulingGroup"  # GenericWorkload
_SIGNAL = "stopSignal"  # ContainerStopSignals
_PROJECTIONS = ("clusterTrustBundle", "podCertificate")  # ClusterTrustBundleProjection, PodCertificateRequest
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


def without_disabled_fields(behavior: KindBehavior, spec_of: SpecOf) -> KindBehavior:
    """The behavior of a kind that loses such fields before anything else is done to its objects.

    `spec_of` gives the pod spec of an object, an empty one if it has none.
    """
    prepare_new, prepare_change = behavior.prepare_for_create, behavior.prepare_for_update

    def prepare_for_create(obj: Object) -> None:
        drop_disabled_fields(spec_of(obj), {})
        if prepare_new is not None:
            prepare_new(obj)

    def prepare_for_update(new: Object, old: Object) -> None:
        drop_disabled_fields(spec_of(new), spec_of(old))
        if prepare_change is not None:
            prepare_change(new, old)

    return replace(behavior, prepare_for_create=prepare_for_create, prepare_for_update=prepare_for_update)


def spec_of_template(obj: Object) -> Object:
    """The pod spec of a workload's template."""
    template = (obj.get("spec") or {}).get("template") or {}
    return template.get("spec") or {}


def drop_disabled_fields(spec: Object, old: Mapping[str, Any]) -> None:
    """Take the fields out of a spec, in place, that is to come in place of `old`."""
    if _GROUP in spec and _GROUP not in old:
        del spec[_GROUP]
    volumes = spec.get("volumes")
    if volumes and any("projected" in volume for volume in volumes):
        for field in _PROJECTIONS:
            found = list(_sources_with(spec, field))
            if found and not any(_sources_with(old, field)):
                for source in found:
                    del source[field]
    signaled = list(_containers_with_signal(spec))
    if signaled and not any(_containers_with_signal(old)):
        for container in signaled:
            lifecycle = container["lifecycle"]
            del lifecycle[_SIGNAL]
            if not lifecycle:
                del container["lifecycle"]


def _sources_with(spec: Mapping[str, Any], field: str) -> Iterator[Object]:
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if field in source:
                yield source


def _containers_with_signal(spec: Mapping[str, Any]) -> Iterator[Object]:
    for kind in _CONTAINERS:
        for container in spec.get(kind) or ():
            if "lifecycle" in container and _SIGNAL in (container["lifecycle"] or ()):
                yield container

"""`--runtime-config`: which built-in groups, versions and resources are served, in kube-apiserver's syntax."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from watchkeeper.apis.catalog import ResourceInfo
from watchkeeper.apis.schema_data import all_resources, resources
from watchkeeper.meta.field import go_bool
from watchkeeper.meta.gvk import GroupVersion
from watchkeeper.server.errors import StartupError

_CLASSES: Mapping[str, re.Pattern[str]] = {
    "api/all": re.compile(r".*"),
    "api/ga": re.compile(r"v\d+"),
    "api/beta": re.compile(r"v\d+beta\d+"),
    "api/alpha": re.compile(r"v\d+alpha\d+"),
}
"""In this order, each over the one before; versions and resources over all of them."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NOTHING_THERE = _names(
    """
    admission.k8s.io/v1 admission.k8s.io/v1beta1 authentication.k8s.io/v1alpha1 authentication.k8s.io/v1beta1
    authorization.k8s.io/v1beta1 batch/v1beta1 certificates.k8s.io/v1alpha1 certificates.k8s.io/v1beta1
    discovery.k8s.io/v1beta1 events.k8s.io/v1beta1 extensions/v1beta1 flowcontrol.apiserver.k8s.io/v1beta1
    flowcontrol.apiserver.k8s.io/v1beta2 flowcontrol.apiserver.k8s.io/v1beta3 imagepolicy.k8s.io/v1alpha1
    node.k8s.io/v1alpha1 node.k8s.io/v1beta1 policy/v1beta1 rbac.authorization.k8s.io/v1alpha1
    rbac.authorization.k8s.io/v1beta1 scheduling.k8s.io/v1alpha2 scheduling.k8s.io/v1beta1 storage.k8s.io/v1alpha1
    storagemigration.k8s.io/v1beta1
    """
)
"""Versions that kube-apiserver knows, and has nothing to serve at; either setting means nothing."""
_NOT_HERE = _names(
    """
    admissionregistration.k8s.io/v1alpha1 admissionregistration.k8s.io/v1beta1 coordination.k8s.io/v1alpha2
    coordination.k8s.io/v1beta1 internal.apiserver.k8s.io/v1alpha1 networking.k8s.io/v1beta1 resource.k8s.io/v1alpha3
    resource.k8s.io/v1beta1 resource.k8s.io/v1beta2 storage.k8s.io/v1beta1
    """
)
"""Versions that kube-apiserver can serve and this server cannot; off, as they are there at first, is fine."""


@dataclass(slots=True)
class _Choices:
    """What is on and off: whole versions, and resources against their version."""

    versions: dict[GroupVersion, bool]
    """Those that are off at first are the ones that kube-apiserver has given up: only their names turn them on."""
    resources: dict[tuple[GroupVersion, str], bool] = field(default_factory=dict)

    def serves(self, info: ResourceInfo) -> bool:
        at = info.gvr.group_version
        return self.resources.get((at, info.gvr.resource), self.versions[at])


def served_resources(settings: Sequence[str]) -> list[ResourceInfo]:
    """The built-in resources that settings such as `apps/v1beta1=true` leave, in the order of discovery.

    Raises StartupError.
    """
    given = _parse(settings)
    if not given:
        return resources()
    everything = all_resources()
    on = {info.gvr.group_version for info in resources()}
    choices = _Choices({info.gvr.group_version: info.gvr.group_version in on for info in everything})
    _apply(choices, given)
    return [info for info in everything if choices.serves(info)]


def _parse(settings: Iterable[str]) -> dict[str, str]:
    given: dict[str, str] = {}
    for setting in settings:
        name, _, value = setting.partition("=")
        given[name.strip()] = value.strip()
    if given.keys() == {"api/all"} and given["api/all"] == "false":
        raise StartupError("--runtime-config: invalid runtime-config with only api/all=false")
    return given


def _apply(choices: _Choices, given: Mapping[str, str]) -> None:
    served = [version for version, on in choices.versions.items() if on]
    for name, pattern in _CLASSES.items():
        if name in given:
            if given[name] not in ("true", "false"):
                raise StartupError(f"--runtime-config: invalid value {name}={given[name]}")
            for version in served:
                if pattern.fullmatch(version.version):
                    choices.versions[version] = given[name] == "true"
    for key, value in given.items():
        if key not in _CLASSES:
            _choose(choices, key, value)


def _choose(choices: _Choices, key: str, value: str) -> None:
    parts = key.split("/")
    if len(parts) == 1:
        parts = ["", key]
    elif parts[0] == "api":
        parts[0] = ""
    if len(parts) > 3:
        raise StartupError(f"--runtime-config: runtime-config invalid key {key}")
    at = GroupVersion(parts[0], parts[1])
    known = str(at) in _NOTHING_THERE or str(at) in _NOT_HERE
    if not known and at.group not in {version.group for version in choices.versions}:
        raise StartupError(f"--runtime-config: unknown api groups {at}")
    if not known and at not in choices.versions:
        raise StartupError(f"--runtime-config: group version {at} that has not been registered")
    on = True if value == "" else go_bool(value)
    if on is None:
        raise StartupError(f"--runtime-config: invalid value of {key}: {value}")
    if known:
        if on and str(at) in _NOT_HERE:
            raise StartupError(f"--runtime-config: {key} cannot be turned on: watchkeeper does not serve {at}")
        return
    if len(parts) == 2:
        choices.versions[at] = on
    elif parts[2] != parts[2].lower():
        raise StartupError(
            f"--runtime-config: invalid key {key}: group/version/resource and resource is always lowercase plural, "
            f'not "{parts[2]}"'
        )
    else:
        choices.resources[at, parts[2]] = on

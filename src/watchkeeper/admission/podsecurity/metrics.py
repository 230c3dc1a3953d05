"""What is counted of judgments about Pods, under kube-apiserver's names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.podsecurity.level import LATEST, Level, LevelVersion
from watchkeeper.meta.gvk import GroupResource

NEWEST = 36
"""The minor version of the standards that are known; those to come are judged as it."""

_PODS = GroupResource("", "pods")
_EVALUATION = ("decision", "policy_level", "policy_version", "mode", "request_operation", "resource", "subresource")
_UNRESTRICTED = ("allow", "privileged", "latest", "enforce")
_REQUEST = ("request_operation", "resource", "subresource")

Labels = tuple[tuple[str, str], ...]


class PodSecurityMetrics:
    """Plain counters."""

    def __init__(self) -> None:
        self.unrestricted = dict.fromkeys(Operation, 0)
        """Pods themselves that were allowed because nothing is asked of them, which is nearly all."""
        self._evaluations: Counter[tuple[str, ...]] = Counter()
        self._errors: Counter[tuple[str, ...]] = Counter()
        sorts = [(operation, resource, "") for resource in ("pod", "controller") for operation in ("create", "update")]
        self._exemptions: Counter[tuple[str, ...]] = Counter(dict.fromkeys(sorts, 0))

    def evaluated(self, attributes: Attributes, mode: str, policy: LevelVersion, *, allowed: bool) -> None:
        """A Pod, or what Pods are made of, was found to keep to a standard or to break it."""
        decision = "allow" if allowed else "deny"
        self._evaluations[decision, str(policy.level), _version(policy), mode, *_request(attributes)] += 1

    def failed(self, attributes: Attributes) -> None:
        """The labels of a namespace could not be read; it was judged by what they may mean."""
        self._errors["false", *_request(attributes)] += 1

    def exempted(self, attributes: Attributes) -> None:
        """A Pod, or what Pods are made of, was not judged."""
        self._exemptions[_request(attributes)] += 1

    def evaluations(self) -> Iterator[tuple[Labels, int]]:
        """How many judgments there were of each sort."""
        found = self._evaluations.copy()
        for operation in (Operation.CREATE, Operation.UPDATE):
            found[*_UNRESTRICTED, operation.lower(), "pod", ""] += self.unrestricted[operation]
        for key, count in found.items():
            yield tuple(zip(_EVALUATION, key, strict=True)), count

    def errors(self) -> Iterator[tuple[Labels, int]]:
        """How often labels could not be read."""
        for key, count in self._errors.items():
            yield tuple(zip(("fatal", *_REQUEST), key, strict=True)), count

    def exemptions(self) -> Iterator[tuple[Labels, int]]:
        """How many requests were not judged."""
        for key, count in self._exemptions.items():
            yield tuple(zip(_REQUEST, key, strict=True)), count


def _version(policy: LevelVersion) -> str:
    if policy.level is Level.PRIVILEGED or policy.minor == LATEST:
        return "latest"
    return f"v1.{policy.minor}" if policy.minor <= NEWEST else "future"


def _request(attributes: Attributes) -> tuple[str, str, str]:
    operation = "create" if attributes.operation is Operation.CREATE else "update"
    resource = "pod" if attributes.resource.group_resource == _PODS else "controller"
    return operation, resource, attributes.subresource

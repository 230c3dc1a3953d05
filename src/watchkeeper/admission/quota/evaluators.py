"""All evaluators: of the resources that are known, and counts of all others."""

from __future__ import annotations

from collections.abc import Iterable

from watchkeeper.admission.quota.claims import ClaimEvaluator
from watchkeeper.admission.quota.devices import DeviceClaimEvaluator
from watchkeeper.admission.quota.evaluator import Evaluator, ObjectCount
from watchkeeper.admission.quota.pods import PodEvaluator
from watchkeeper.admission.quota.services import ServiceEvaluator
from watchkeeper.meta.gvk import GroupResource

_IGNORED = frozenset(
    {
        GroupResource("", "bindings"),
        GroupResource("", "componentstatuses"),
        GroupResource("", "events"),
        GroupResource("events.k8s.io", "events"),
        GroupResource("authentication.k8s.io", "tokenreviews"),
        GroupResource("authentication.k8s.io", "selfsubjectreviews"),
        GroupResource("authorization.k8s.io", "localsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectrulesreviews"),
        GroupResource("authorization.k8s.io", "subjectaccessreviews"),
    }
)
"""What is stored nowhere, and Events, which have never been counted."""
_ALIASED = ("configmaps", "resourcequotas", "replicationcontrollers", "secrets")


class EvaluatorTable:
    """Evaluators by resource; those that only count are made when first asked for."""

    def __init__(self) -> None:
        known: list[Evaluator] = [PodEvaluator(), ServiceEvaluator(), ClaimEvaluator(), DeviceClaimEvaluator()]
        known += [ObjectCount(GroupResource("", name), name) for name in _ALIASED]
        self._known = {each.resource: each for each in known}

    def find(self, resource: GroupResource) -> Evaluator | None:
        """The evaluator of a resource, None for what quotas ignore."""
        found = self._known.get(resource)
        if found is None and resource not in _IGNORED:
            found = self._known[resource] = ObjectCount(resource)
        return found

    def concerned(self, names: Iterable[str]) -> list[Evaluator]:
        """The evaluators that some of a quota's resources are about."""
        wanted = list(names)
        for name in wanted:
            if name.startswith("count/"):
                resource, _, group = name.removeprefix("count/").partition(".")
                self.find(GroupResource(group, resource))
        return [each for each in self._known.values() if each.matching(wanted)]

"""Admission policies in a server: the plugins, and what feeds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from watchkeeper.admission.matching import Equivalents, NamespaceReader
from watchkeeper.admission.policy.invocation import PolicyServices
from watchkeeper.admission.policy.metrics import PolicyMetrics
from watchkeeper.admission.policy.mutating import MutatingPolicies
from watchkeeper.admission.policy.policies import Policies
from watchkeeper.admission.policy.validating import ValidatingPolicies
from watchkeeper.authz.interface import Authorizer
from watchkeeper.endpoints.metrics import Family, Sample
from watchkeeper.endpoints.scope import ServedTable
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.runtime.scheme import Scheme
from watchkeeper.server.policy_params import ServedParamSources

if TYPE_CHECKING:
    from watchkeeper.admission.policy.mutator import Mutator
    from watchkeeper.admission.policy.validator import Validator

Object = dict[str, Any]

GROUP = "admissionregistration.k8s.io"
VALIDATING = "ValidatingAdmissionPolicy"
MUTATING = "MutatingAdmissionPolicy"
RESOURCES = {
    VALIDATING: GroupResource(GROUP, "validatingadmissionpolicies"),
    f"{VALIDATING}Binding": GroupResource(GROUP, "validatingadmissionpolicybindings"),
    MUTATING: GroupResource(GROUP, "mutatingadmissionpolicies"),
    f"{MUTATING}Binding": GroupResource(GROUP, "mutatingadmissionpolicybindings"),
}
"""What has to be followed, by kind."""
_CHECK_LABELS = ("policy", "policy_binding", "error_type", "enforcement_action")


class AdmissionPolicies:
    """The policies of a server. A `feed.Followed`."""

    def __init__(
        self,
        scheme: Scheme,
        served: ServedTable,
        *,
        equivalents: Equivalents,
        authorizer: Authorizer,
        read_namespace: NamespaceReader,
    ) -> None:
        self.metrics = PolicyMetrics()
        services = PolicyServices(
            equivalents=equivalents,
            read_namespace=read_namespace,
            authorizer=authorizer,
            params=ServedParamSources(scheme, served),
            metrics=self.metrics,
        )
        self.validating = ValidatingPolicies(Policies(_validator), services)
        self.mutating = MutatingPolicies(Policies(_mutator), services, scheme)
        self._policies: dict[str, Policies[Any]] = {
            VALIDATING: self.validating.policies,
            MUTATING: self.mutating.policies,
        }

    def put(self, obj: Object) -> None:
        """Take in a policy or a binding."""
        kind = obj["kind"]
        policies = self._policies[kind.removesuffix("Binding")]
        if kind.endswith("Binding"):
            policies.put_binding(obj)
        else:
            policies.put_policy(obj)

    def remove(self, obj: Object) -> None:
        """Forget a policy or a binding."""
        kind, name = obj["kind"], obj["metadata"]["name"]
        policies = self._policies[kind.removesuffix("Binding")]
        if kind.endswith("Binding"):
            policies.remove_binding(name)
        else:
            policies.remove_policy(name)

    def replace(self, kind: str, objects: list[Object]) -> None:
        """Take in all objects of a kind, forgetting others."""
        policies = self._policies[kind.removesuffix("Binding")]
        if kind.endswith("Binding"):
            policies.replace_bindings(objects)
        else:
            policies.replace_policies(objects)

    def collect(self) -> Iterator[Family]:
        """What was counted so far, under the reference's names."""
        yield Family(
            "apiserver_validating_admission_policy_check_total",
            "counter",
            "What validating admission policies found, by the action taken.",
            [
                Sample(count, tuple(zip(_CHECK_LABELS, labels, strict=True)))
                for labels, count in self.metrics.checks.items()
            ],
        )
        yield Family(
            "apiserver_mutating_admission_policy_check_total",
            "counter",
            "What mutating admission policies did.",
            [
                Sample(count, tuple(zip(_CHECK_LABELS, labels, strict=False)))
                for labels, count in self.metrics.mutations.items()
            ],
        )


def _validator(spec: Any) -> Validator:
    from watchkeeper.admission.policy.validator import Validator

    return Validator(spec)


def _mutator(spec: Any) -> Mutator:
    from watchkeeper.admission.policy.mutator import Mutator

    return Mutator(spec)

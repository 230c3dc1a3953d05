"""Admission policies in a server: the plugins, and what feeds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.admission.matching import Equivalents, NamespaceReader
from watchkeeper.admission.policy.invocation import PolicyServices
from watchkeeper.admission.policy.mutating import MutatingPolicies
from watchkeeper.admission.policy.policies import Policies
from watchkeeper.admission.policy.validating import ValidatingPolicies
from watchkeeper.authz.interface import Authorizer
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
        services = PolicyServices(
            equivalents=equivalents,
            read_namespace=read_namespace,
            authorizer=authorizer,
            params=ServedParamSources(scheme, served),
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


def _validator(spec: Any) -> Validator:
    from watchkeeper.admission.policy.validator import Validator

    return Validator(spec)


def _mutator(spec: Any) -> Mutator:
    from watchkeeper.admission.policy.mutator import Mutator

    return Mutator(spec)

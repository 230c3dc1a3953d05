"""What admission that users configure never sees."""

from __future__ import annotations

from watchkeeper.admission.interface import Attributes
from watchkeeper.meta.gvk import GroupResource

_GROUP = "admissionregistration.k8s.io"
_KINDS = frozenset(
    {
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    }
)
_POLICIES = frozenset(
    GroupResource(_GROUP, resource)
    for resource in (
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
    )
)
_REVIEWS = frozenset(
    {
        GroupResource("authentication.k8s.io", "selfsubjectreviews"),
        GroupResource("authentication.k8s.io", "tokenreviews"),
        GroupResource("authorization.k8s.io", "localsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectrulesreviews"),
        GroupResource("authorization.k8s.io", "subjectaccessreviews"),
    }
)


def is_exempt(attributes: Attributes) -> bool:
    """Whether the request is about admission's own configuration, which no webhook may lock away."""
    return attributes.kind.group == _GROUP and attributes.kind.kind in _KINDS


def is_exempt_from_policies(attributes: Attributes) -> bool:
    """Whether the request is about policies, which none may lock away, or a review without which no cluster works.

    What configures webhooks is for policies to judge.
    """
    resource = attributes.resource.group_resource
    return resource in _POLICIES or resource in _REVIEWS


def is_review(attributes: Attributes) -> bool:
    """Whether the request is a review without which a cluster cannot work. Policies, not webhooks, leave it alone."""
    return attributes.resource.group_resource in _REVIEWS

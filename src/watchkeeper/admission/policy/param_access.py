"""Nobody lets a policy read parameters for them that they may not read themselves.

The reference asks while it validates (registry/admissionregistration, authz.go of each kind), so refusals are those of
an invalid object, and of one that is in order otherwise.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.authz.interface import Attributes as Question
from watchkeeper.authz.interface import Authorizer
from watchkeeper.authz.union import ask
from watchkeeper.meta import errors
from watchkeeper.meta.field import forbidden
from watchkeeper.meta.gvk import GroupResource, GroupVersion, GroupVersionKind
from watchkeeper.request.user import User

Object = dict[str, Any]
FindPolicy = Callable[[GroupResource, str], Awaitable[Object | None]]
"""Reads a policy of a resource by its name, None when there is none. Raises ApiError."""
FindResource = Callable[[GroupVersionKind], str | None]
"""The plural name of a kind that is served, None of one that is not."""

_GROUP = "admissionregistration.k8s.io"
_POLICIES = frozenset(
    GroupResource(_GROUP, name) for name in ("validatingadmissionpolicies", "mutatingadmissionpolicies")
)
_POLICY_OF = {
    GroupResource(_GROUP, f"{name}policybindings"): GroupResource(_GROUP, f"{name}policies")
    for name in ("validatingadmission", "mutatingadmission")
}
_ANY = "*"


class ParamAccess(BasePlugin):
    """Asks whether the writer of a policy may get all objects of its paramKind, and of a binding, those it names."""

    name = "ParamAccess"
    deep = False
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    resources = _POLICIES | _POLICY_OF.keys()

    def __init__(self, authorizer: Authorizer, find_policy: FindPolicy, find_resource: FindResource) -> None:
        self._authorizer = authorizer
        self._find_policy = find_policy
        self._find_resource = find_resource

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raises a 422 for parameters that are out of the writer's reach."""
        a, resource = attributes, attributes.resource.group_resource
        if a.user.is_master or a.subresource or a.obj is None:
            return None
        if resource in _POLICIES:
            kind = _spec(a.obj).get("paramKind")
            return None if kind is None or kind == _spec(a.old).get("paramKind") else self._judge_policy(a, kind)
        # Even a binding that keeps its reference is asked about: the reference compares addresses of what it holds.
        ref = _spec(a.obj).get("paramRef")
        return None if ref is None else self._judge_binding(a, ref, _POLICY_OF[resource])

    async def _judge_policy(self, attributes: Attributes, kind: Mapping[str, Any]) -> None:
        question = self._question(attributes.user, "get", _ANY, _ANY, kind)
        if (await ask(self._authorizer, question)).allowed:
            return
        shown = f"kind={kind.get('kind') or ''}, apiVersion={kind.get('apiVersion') or ''}"
        what = f'must have "get" permission on all objects of the referenced paramKind ({shown})'
        raise _refusal(attributes, "spec.paramKind", f"user {_shown(attributes.user)} {what}")

    async def _judge_binding(self, attributes: Attributes, ref: Mapping[str, Any], policies: GroupResource) -> None:
        name, namespace = ref.get("name") or "", ref.get("namespace") or ""
        verb = "get" if name else "list"
        policy_name = _spec(attributes.obj).get("policyName") or ""
        policy = await self._find_policy(policies, policy_name)
        kind = _spec(policy).get("paramKind")
        question = self._question(attributes.user, verb, namespace, name, kind)
        if (await ask(self._authorizer, question)).allowed:
            return
        lacking = f'user {_shown(attributes.user)} does not have "{verb}" permission'
        unknown = ""
        if policy is None:
            unknown = f"get policy {policy_name}"
        elif kind is not None and question.resource == _ANY:
            unknown = f"resolve paramKind &{{{kind.get('apiVersion') or ''} {kind.get('kind') or ''}}}"
        why = f"{lacking} on the object referenced by paramRef"
        if unknown:
            why = (
                f"unable to {unknown} to determine minimum required permissions and {lacking} for all groups, "
                "versions and resources"
            )
        raise _refusal(attributes, "spec.paramRef", why)

    def _question(self, user: User, verb: str, namespace: str, name: str, kind: Mapping[str, Any] | None) -> Question:
        """About objects of a kind; about everything as far as the kind is not known."""
        group = version = resource = _ANY
        if kind is not None:
            parsed = GroupVersion.parse(kind.get("apiVersion") or "")
            group, version = parsed.group, parsed.version
            served = self._find_resource(GroupVersionKind(group, version, kind.get("kind") or ""))
            resource = _ANY if served is None else served
        return Question(
            user=user, verb=verb, group=group, version=version, resource=resource, namespace=namespace, name=name
        )


def _spec(obj: Object | None) -> Object:
    return (obj or {}).get("spec") or {}


def _shown(user: User) -> str:
    """A user as Go prints one with %v."""
    extra = " ".join(f"{key}:[{' '.join(values)}]" for key, values in sorted(user.extra.items()))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"


def _refusal(attributes: Attributes, path: str, why: str) -> errors.ApiError:
    name = (attributes.obj or {})["metadata"].get("name") or ""
    return errors.invalid(attributes.kind.group_kind, name, [forbidden(path, why)])

"""Nobody grants rights that they do not have: what is asked before a role or a binding is written.

kube-apiserver's pkg/registry/rbac, policybased storages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from watchkeeper.authz.interface import Attributes, Authorizer
from watchkeeper.authz.rbac.policy import GROUP, Policy, RoleNotFound, all_told
from watchkeeper.authz.rbac.rule import FULL_AUTHORITY, Rule, compact, parse_rules, uncovered
from watchkeeper.authz.union import ask
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.request.user import User

Object = Mapping[str, Any]
_COLLECTOR_FIELDS = ("ownerReferences", "finalizers", "managedFields", "selfLink")


class EscalationCheck:
    """Checks writes of roles, cluster roles and their bindings against the rights of the writer."""

    def __init__(self, policy: Policy, authorizer: Authorizer) -> None:
        self._policy = policy
        self._authorizer = authorizer

    async def check_role(self, user: User, namespace: str, name: str, role: Object, old: Object | None) -> None:
        """Before a Role or ClusterRole is created (`old` is None) or changed. Raises a 403.

        `name` is the request's: it is what the right to `escalate` is asked on, and empty on create.
        """
        resource = "roles" if namespace else "clusterroles"
        if user.is_master or await self._may(user, "escalate", resource, namespace, name):
            return
        if old is not None and _only_collector_fields_differ(role, old):
            return
        shown = role["metadata"].get("name", "")
        self._refuse_more_than_own(user, namespace, resource, shown, parse_rules(role))
        if (_aggregates(role) or (old is not None and _aggregates(old))) and uncovered(
            self._policy.rules_for(user, namespace), FULL_AUTHORITY
        ):
            why = "must have cluster-admin privileges to use the aggregationRule"
            raise errors.forbidden(GroupResource(GROUP, resource), shown, why)

    async def check_binding(self, user: User, namespace: str, binding: Object, old: Object | None) -> None:
        """Before a RoleBinding or ClusterRoleBinding is created (`old` is None) or changed. Raises a 403 or a 404."""
        if user.is_master or (old is not None and _only_collector_fields_differ(binding, old)):
            return
        resource = "rolebindings" if namespace else "clusterrolebindings"
        role = binding.get("roleRef") or {}
        kind, name = role.get("kind", ""), role.get("name", "")
        role_resource = {"Role": "roles", "ClusterRole": "clusterroles"}.get(kind, "")
        if role_resource and await self._may(user, "bind", role_resource, namespace, name):
            return
        try:
            rules = self._policy.referenced_rules(kind, name, namespace)
        except RoleNotFound as error:
            raise _role_missing(kind, name, resource, error) from error
        self._refuse_more_than_own(user, namespace, resource, binding["metadata"].get("name", ""), rules)

    def _refuse_more_than_own(
        self, user: User, namespace: str, resource: str, name: str, rules: Iterable[Rule]
    ) -> None:
        absent: list[str] = []
        missing = uncovered(self._policy.rules_for(user, namespace, absent), rules)
        if not missing:
            return
        groups = f"[{' '.join(map(go_quote, user.groups))}]"
        lines = "\n".join(sorted({str(rule) for rule in compact(missing)}))
        who = f"user {go_quote(user.name)} (groups={groups})"
        why = f"{who} is attempting to grant RBAC permissions not currently held:\n{lines}"
        if absent:
            why += f"; resolution errors: [{all_told(absent)}]"
        raise errors.forbidden(GroupResource(GROUP, resource), name, why)

    async def _may(self, user: User, verb: str, resource: str, namespace: str, name: str) -> bool:
        question = Attributes(
            user=user, verb=verb, group=GROUP, version="*", resource=resource, namespace=namespace, name=name
        )
        return (await ask(self._authorizer, question)).allowed


def _aggregates(role: Object) -> bool:
    rule = role.get("aggregationRule") or {}
    return bool(rule.get("clusterRoleSelectors"))


def _only_collector_fields_differ(new: Object, old: Object) -> bool:
    """Whether nothing changes but what a garbage collector writes."""

    def rest(obj: Object) -> dict[str, Any]:
        metadata = {key: value for key, value in obj["metadata"].items() if key not in _COLLECTOR_FIELDS}
        return {**obj, "metadata": metadata}

    return rest(new) == rest(old)


def _role_missing(kind: str, name: str, resource: str, error: RoleNotFound) -> ApiError:
    """The refusal of a binding to a role that is not there. It names the binding's `resource`: kube-apiserver looks the
    role up in the course of the request for the binding, and takes the words from that."""
    if kind in ("Role", "ClusterRole"):
        return errors.not_found(GroupResource(GROUP, resource), name)
    return errors.internal_error(str(error))

"""Nobody writes a role or a binding that grants more than they have."""

from __future__ import annotations

from collections.abc import Awaitable

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.authz.rbac.escalation import EscalationCheck
from watchkeeper.authz.rbac.policy import GROUP
from watchkeeper.meta.gvk import GroupResource


class RbacEscalation(BasePlugin):
    """Asks the EscalationCheck.

    It comes last while objects are still changed, so that what is granted is known, and before they are validated.
    """

    name = "RBACEscalation"
    deep = False
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    resources = frozenset(
        GroupResource(GROUP, resource) for resource in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
    )

    def __init__(self, check: EscalationCheck) -> None:
        self._check = check

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raise a 403 for rights that the writer does not have."""
        a = attributes
        if a.resource.group != GROUP or a.obj is None or a.user.is_master:
            return None
        if a.resource.resource in ("roles", "clusterroles"):
            name = a.name if a.operation is Operation.UPDATE else ""
            return self._check.check_role(a.user, a.namespace, name, a.obj, a.old)
        if a.resource.resource in ("rolebindings", "clusterrolebindings"):
            return self._check.check_binding(a.user, a.namespace, a.obj, a.old)
        return None

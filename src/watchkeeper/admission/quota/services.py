"""What Services use of quotas."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.quota.amounts import ONE, ZERO, Amounts
from watchkeeper.admission.quota.evaluator import Object, ScopeSelector, count_name
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.runtime.quantity import Quantity

_SERVICES = GroupResource("", "services")
_COUNT = count_name(_SERVICES)
_NODE_PORTS, _LOAD_BALANCERS = "services.nodeports", "services.loadbalancers"
_KNOWN = frozenset({_COUNT, "services", _NODE_PORTS, _LOAD_BALANCERS})


class ServiceEvaluator:
    """Counts Services, their node ports and load balancers."""

    resource = _SERVICES

    def handles(self, attributes: Attributes) -> bool:
        """A Service may change its type."""
        return attributes.operation in (Operation.CREATE, Operation.UPDATE) and not attributes.subresource

    def matching(self, names: Iterable[str]) -> list[str]:
        """Counts of Services and of what they take."""
        return [name for name in names if name in _KNOWN]

    def missing(self, required: Collection[str], obj: Object) -> str:
        """Everything can be counted."""
        return ""

    def usage(self, obj: Object) -> Amounts:
        """One Service; by its type node ports and a load balancer."""
        spec = obj.get("spec") or {}
        ports = spec.get("ports") or ()
        found: Amounts = {_COUNT: ONE, "services": ONE, _NODE_PORTS: ZERO, _LOAD_BALANCERS: ZERO}
        taken = 0
        if spec.get("type") == "NodePort":
            taken = len(ports)
        elif spec.get("type") == "LoadBalancer":
            found[_LOAD_BALANCERS] = ONE
            free = spec.get("allocateLoadBalancerNodePorts") is False
            taken = sum(1 for port in ports if port.get("nodePort")) if free else len(ports)
        if taken:
            found[_NODE_PORTS] = Quantity.parse(str(taken))
        return found

    def in_scope(self, selector: ScopeSelector, obj: Object) -> bool:
        """Scopes are for Pods."""
        return False

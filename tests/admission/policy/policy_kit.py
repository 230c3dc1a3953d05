"""What tests of policies share: requests, policies, and a server that knows little."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.matching import Equivalent
from watchkeeper.admission.policy.invocation import PolicyServices
from watchkeeper.admission.policy.metrics import PolicyMetrics
from watchkeeper.admission.policy.mutating import MutatingPolicies
from watchkeeper.admission.policy.mutator import Mutator
from watchkeeper.admission.policy.params import ParamSource
from watchkeeper.admission.policy.policies import Policies
from watchkeeper.admission.policy.validating import ValidatingPolicies
from watchkeeper.admission.policy.validator import Validator
from watchkeeper.admission.versions import SchemeVersions
from watchkeeper.apis.builtin import builtin_scheme
from watchkeeper.authz.interface import ALLOWED, NO_OPINION, Answer
from watchkeeper.authz.interface import Attributes as Asked
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.meta.labels import LabelSelector
from watchkeeper.request.user import User

Object = dict[str, Any]

CONFIG_MAPS = GroupVersionResource("", "v1", "configmaps")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
NAMESPACE = {"kind": "Namespace", "metadata": {"name": "web", "labels": {"tier": "front"}}, "spec": {}, "status": {}}
SCHEME = builtin_scheme()


class NoEquivalents:
    def of(self, resource: GroupVersionResource, subresource: str) -> Sequence[Equivalent]:
        return ()


class MayGet:
    """Everybody may get, and has to wait for the answer about listing."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    def authorize(self, attributes: Asked) -> Answer | Awaitable[Answer]:
        self.asked.append(attributes)
        if attributes.verb == "list":
            return self._later()
        return ALLOWED if attributes.verb == "get" else NO_OPINION

    async def _later(self) -> Answer:
        await asyncio.sleep(0)
        return ALLOWED


class Stored:
    """A source of parameters."""

    def __init__(self, *objects: Object, namespaced: bool = True) -> None:
        self.objects = objects
        self.namespaced = namespaced

    async def get(self, namespace: str, name: str) -> Object | None:
        return next((o for o in await self._in(namespace) if o["metadata"]["name"] == name), None)

    async def list(self, namespace: str, selector: LabelSelector) -> Sequence[Object]:
        return [o for o in await self._in(namespace) if selector.matches(o["metadata"].get("labels") or {})]

    async def _in(self, namespace: str) -> Sequence[Object]:
        return [o for o in self.objects if (o["metadata"].get("namespace") or "") == namespace]


class Sources:
    def __init__(self, **sources: ParamSource) -> None:
        self.sources = sources

    def find(self, kind: GroupVersionKind) -> ParamSource | None:
        return self.sources.get(kind.kind)


def services(authorizer: Any = None, **sources: ParamSource) -> PolicyServices:
    return PolicyServices(
        equivalents=NoEquivalents(),
        read_namespace=lambda name: NAMESPACE if name == "web" else None,
        authorizer=authorizer or MayGet(),
        params=Sources(**sources),
        metrics=PolicyMetrics(),
    )


def config_map(name: str = "a", labels: dict[str, str] | None = None, **data: str) -> Object:
    metadata = {"name": name, "namespace": "web", **({"labels": labels} if labels else {})}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": data}


class Asking:
    """A request, and what comes of it."""

    def __init__(self, obj: Object | None, old: Object | None = None, operation: Operation = Operation.CREATE) -> None:
        self.warnings: list[str] = []
        self.annotations: dict[str, str] = {}
        self.attributes = Attributes(
            operation=operation,
            kind=CONFIG_MAP,
            resource=CONFIG_MAPS,
            namespace="web",
            name="a",
            user=User("jane", groups=("devs",)),
            obj=obj,
            old=old,
            options={"kind": "CreateOptions"},
            warn=self.warnings.append,
            annotate=self._annotate,
            versions=SchemeVersions(SCHEME),
        )

    def _annotate(self, key: str, value: str, level: str = "Metadata") -> None:
        self.annotations[key] = value


def policy(name: str = "p", kind: str = "ConfigMap", **spec: Any) -> Object:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
    return {"metadata": {"name": name}, "spec": {"matchConstraints": {"resourceRules": [rule]}, **spec}}


def binding(name: str = "b", policy: str = "p", *actions: str, **spec: Any) -> Object:
    actions = actions or ("Deny",)
    return {"metadata": {"name": name}, "spec": {"policyName": policy, "validationActions": actions, **spec}}


def validating(*objects: Object, using: PolicyServices | None = None) -> ValidatingPolicies:
    """A plugin with policies and bindings."""
    policies: Policies[Validator] = Policies(Validator)
    _fill(policies, objects)
    return ValidatingPolicies(policies, using or services())


def mutating(*objects: Object, using: PolicyServices | None = None) -> MutatingPolicies:
    """A plugin with policies and bindings."""
    policies: Policies[Mutator] = Policies(Mutator)
    _fill(policies, objects)
    return MutatingPolicies(policies, using or services(), SCHEME)


def _fill(policies: Policies[Any], objects: Sequence[Object]) -> None:
    for obj in objects:
        if "policyName" in obj["spec"]:
            policies.put_binding(obj)
        else:
            policies.put_policy(obj)


def validate(plugin: ValidatingPolicies, asking: Asking) -> ApiError | None:
    """What the plugin refuses with, None when it does not."""
    return _outcome(plugin.validate(asking.attributes))


def admit(plugin: MutatingPolicies, asking: Asking) -> ApiError | None:
    """What the plugin refuses with, None when it does not."""
    return _outcome(plugin.admit(asking.attributes))


def _outcome(waiting: Awaitable[None] | None) -> ApiError | None:
    async def wait() -> ApiError | None:
        try:
            if waiting is not None:
                await waiting
        except ApiError as error:
            return error
        return None

    return asyncio.run(wait())

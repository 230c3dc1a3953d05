"""What both kinds of policies do with a request: match it, find parameters, and prepare what expressions see."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from watchkeeper.admission.interface import Attributes
from watchkeeper.admission.matching import Equivalents, Match, NamespaceReader, Namespaces
from watchkeeper.admission.policy.definition import Binding, Hook, Policy
from watchkeeper.admission.policy.metrics import PolicyMetrics
from watchkeeper.admission.policy.params import ConfigurationError, ParamSource, ParamSources, collect
from watchkeeper.admission.versioned import VersionedObjects
from watchkeeper.authz.interface import Authorizer
from watchkeeper.meta.errors import ApiError

Object = dict[str, Any]
E = TypeVar("E")

AddConfigError = Callable[[str, Policy[Any], Binding | None], None]
"""Notes why a policy, or one of its bindings, cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyServices:
    """What policies need of a server."""

    equivalents: Equivalents
    read_namespace: NamespaceReader
    authorizer: Authorizer
    params: ParamSources
    metrics: PolicyMetrics


@dataclass(frozen=True, slots=True)
class Invocation(Generic[E]):
    """A policy, bound, that matches a request: to be evaluated once with each parameter."""

    policy: Policy[E]
    binding: Binding
    match: Match
    params: Sequence[Object | None]


class RequestView:
    """One request, as the policies see it one after another."""

    def __init__(self, services: PolicyServices, attributes: Attributes) -> None:
        from watchkeeper.admission.expression.questions import Questions

        self.attributes = attributes
        self.objects = VersionedObjects(attributes)
        self.questions = Questions(services.authorizer, attributes)
        self._services = services
        self._namespaces = Namespaces(services.read_namespace)

    async def invocations(
        self, hooks: Sequence[Hook[E]], add_config_error: AddConfigError
    ) -> AsyncIterator[Invocation[E]]:
        """What applies to the request, in order. What cannot be used is told to `add_config_error`."""
        for hook in hooks:
            policy = hook.policy
            try:
                match = await self._match(policy)
                if match is None:
                    continue
                source = self._param_source(policy)
            except (ApiError, ConfigurationError) as error:
                add_config_error(f"failed to configure policy: {error}", policy, None)
                continue
            for binding in hook.bindings:
                try:
                    params = await self._params(binding, source)
                except (ApiError, ConfigurationError) as error:
                    add_config_error(f"failed to configure binding: {error}", policy, binding)
                    continue
                if params:
                    yield Invocation(policy, binding, match, params)

    async def _match(self, policy: Policy[E]) -> Match | None:
        return await policy.criteria.matches(self.attributes, self._services.equivalents, self._namespaces)

    def _param_source(self, policy: Policy[E]) -> ParamSource | None:
        kind = policy.param_kind
        if kind is None:
            return None
        source = self._services.params.find(kind)
        if source is None:
            raise ConfigurationError(f"failed to find resource referenced by paramKind: '{kind}'")
        return source

    async def _params(self, binding: Binding, source: ParamSource | None) -> Sequence[Object | None]:
        criteria, services = binding.criteria, self._services
        if criteria is not None and not await criteria.matches(self.attributes, services.equivalents, self._namespaces):
            return ()
        return await collect(source, binding, self.attributes.namespace)

    async def namespace(self) -> Object | None:
        """What is told of the namespace: None for cluster-scoped objects and for Namespaces. Raises a 404."""
        from watchkeeper.admission.expression.request import namespace_value

        a = self.attributes
        if not a.namespace or a.kind == ("", "v1", "Namespace"):
            return None
        return namespace_value(await self._namespaces.get(a.namespace))

    async def values(self, match: Match, namespace: Object | None) -> Object:
        """All variables but params and the authorizer. Raises ApiError when objects cannot be converted."""
        from watchkeeper.admission.expression.request import request_value

        versioned = await self.objects.at(match.kind)
        return {
            "object": versioned.obj,
            "oldObject": versioned.old,
            "namespaceObject": namespace,
            "request": request_value(self.attributes, match.resource, match.kind),
            "params": None,
        }

    def condition_values(self, match: Match, values: Object, param: Object | None) -> Object:
        """What match conditions see: no namespace, and in `request` the resource that was asked for."""
        from watchkeeper.admission.expression.request import request_value

        request = values["request"]
        if match.resource != self.attributes.resource:
            request = request_value(self.attributes, self.attributes.resource, match.kind)
        return {**values, **self.questions.values(), "request": request, "params": param, "namespaceObject": None}

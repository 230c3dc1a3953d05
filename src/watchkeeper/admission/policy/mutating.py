"""The admission plugin of MutatingAdmissionPolicies."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation, Reinvocation
from watchkeeper.admission.matching import Match, is_exempt_from_policies
from watchkeeper.admission.policy.definition import Binding, Policy
from watchkeeper.admission.policy.invocation import Invocation, PolicyServices, RequestView
from watchkeeper.admission.policy.metrics import PolicyMetrics
from watchkeeper.admission.policy.params import ConfigurationError
from watchkeeper.admission.policy.policies import Policies
from watchkeeper.admission.refusal import forbidden
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote, invalid
from watchkeeper.meta.gvk import GroupKind, GroupVersionKind
from watchkeeper.runtime.scheme import DecodeError, Kind, NotRegistered, Scheme

if TYPE_CHECKING:
    from watchkeeper.admission.policy.mutator import Mutation, Mutator

Object = dict[str, Any]

KIND = "MutatingAdmissionPolicy"
_Key = tuple[str, str, str, str]
"""(policy, binding, namespace and name of the parameter)."""


@dataclass(slots=True)
class _Passes:
    """Which policies run in the second pass: those that want to, and ran before something was changed."""

    ran: set[_Key] = field(default_factory=set)
    again: set[_Key] = field(default_factory=set)
    output: bytes | None = None
    """The object as the policies left it, if any of them ran that others may make run again."""

    def changed(self) -> None:
        """What ran so far has to run again."""
        self.again |= self.ran
        self.ran.clear()


class MutatingPolicies(BasePlugin):
    """Lets all policies that are in force change objects; costs nothing when there is none."""

    name = KIND
    deep = False
    operations = frozenset({Operation.CREATE, Operation.UPDATE, Operation.CONNECT})

    def __init__(self, policies: Policies[Mutator], services: PolicyServices, scheme: Scheme) -> None:
        self.policies = policies
        self._services = services
        self._scheme = scheme

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Change the object, or raise what the first failure says."""
        if not self.policies.hooks or is_exempt_from_policies(attributes):
            return None
        return self._admit(attributes)

    async def _admit(self, attributes: Attributes) -> None:
        view = RequestView(self._services, attributes)
        failures = _Failures(attributes)
        # All parameters are found before the first change, as in the reference.
        invocations = [i async for i in view.invocations(self.policies.hooks, failures.add_config_error)]
        if invocations:
            run = _Run(view, failures, self._scheme, await view.namespace(), self._services.metrics)
            for invocation in invocations:
                for param in invocation.params:
                    await run.invoke(invocation, param)
            run.end()
        failures.conclude()


class _Run:
    """All policies that apply to one request, one after another."""

    def __init__(
        self,
        view: RequestView,
        failures: _Failures,
        scheme: Scheme,
        namespace: Object | None,
        metrics: PolicyMetrics,
    ) -> None:
        self._view = view
        self._attributes = view.attributes
        self._failures = failures
        self._scheme = scheme
        self._namespace = namespace
        self._metrics = metrics
        if self._attributes.reinvocation is None:
            self._attributes.reinvocation = Reinvocation()
        self._reinvocation = self._attributes.reinvocation
        self._passes: _Passes = self._reinvocation.values.setdefault(KIND, _Passes())
        self._changed = False
        if self._reinvocation.running and self._passes.ran and self._passes.output != self._fingerprint():
            self._passes.changed()

    async def invoke(self, invocation: Invocation[Mutator], param: Object | None) -> None:
        """Run all mutations of a policy, if its conditions hold. Raises ApiError."""
        from watchkeeper.admission.expression.conditions import ConditionError

        view, mutator = self._view, invocation.policy.evaluator
        values = await view.values(invocation.match, self._namespace)
        conditions = view.condition_values(invocation.match, values, param)
        try:
            if mutator.conditions and not await view.questions.evaluate(lambda: mutator.conditions.match(conditions)):
                return
        except ConditionError as problem:
            self._failures.add(problem, invocation)
            return
        key = _key(invocation, param)
        if self._reinvocation.running and key not in self._passes.again:
            return
        names = (invocation.policy.name, invocation.binding.name)
        for mutation in mutator.mutations:
            if self._attributes.obj is None:
                break
            try:
                await self._mutate(invocation, mutation, param)
            except ApiError as error:
                if error.reason:
                    raise
                raise errors.internal_error(f"failed to convert object: {error.message}") from error
            except (ConfigurationError, DecodeError) as problem:
                self._metrics.mutated(*names, str(problem))
                self._failures.add(problem, invocation)
            else:
                self._metrics.mutated(*names)
        if mutator.reinvokes:
            self._passes.ran.add(key)

    async def _mutate(self, invocation: Invocation[Mutator], mutation: Mutation, param: Object | None) -> None:
        from watchkeeper.admission.policy.apply_configuration import apply_configuration
        from watchkeeper.admission.policy.json_patch import apply_operations

        view, kind = self._view, invocation.match.kind
        try:
            known = self._scheme.kind(kind)
        except NotRegistered:
            raise errors.service_unavailable(
                f"Resource kind {kind} not found. There can be a delay between when CustomResourceDefinitions are "
                "created and when they are available."
            ) from None
        values = await view.values(invocation.match, self._namespace)
        given = {**values, **view.questions.values(), "params": param}
        mutator = invocation.policy.evaluator
        value = await view.questions.evaluate(lambda: mutator.evaluate(mutation, given))
        if mutation.patch_type == "JSONPatch":
            changed = self._decoded(apply_operations(values["object"], value), kind)
        else:
            described = _is_described(invocation.match, self._attributes)
            applied = apply_configuration(known, values["object"], value, described=described)
            changed = self._decode(applied, kind)
        _require_version_of_request(known, self._attributes)
        await view.objects.replace(changed, kind)
        self._passes.changed()
        self._changed = True

    def end(self) -> None:
        """Ask for another pass if anything was changed; even a policy that changed it last may then run again."""
        if self._changed:
            self._passes.changed()
            self._reinvocation.requested = True
        if self._passes.ran:
            self._passes.output = self._fingerprint()

    def _fingerprint(self) -> bytes:
        return orjson.dumps(self._attributes.obj, option=orjson.OPT_SORT_KEYS)

    def _decoded(self, patched: Object, kind: GroupVersionKind) -> Object:
        """A patched object as its kind has it; what the kind does not know is an error of the server's."""
        known = self._scheme.kind(kind)
        unknown: list[str] = []
        said = patched.get("kind")
        if not known.builtin and isinstance(said, str) and said not in ("", kind.kind):
            raise _other_kind(patched, said, kind)
        try:
            if known.builtin:
                known.decode(orjson.loads(orjson.dumps(patched)), unknown)
            decoded = self._decode(patched, kind)
        except DecodeError as error:
            raise errors.internal_error(str(error)) from error
        if unknown:
            raise errors.internal_error(f"strict decoding error: {', '.join(unknown)}")
        return decoded

    def _decode(self, obj: Object, kind: GroupVersionKind) -> Object:
        versions = self._attributes.versions
        return obj if versions is None else versions.decode(obj, kind)


@dataclass(slots=True)
class _Failures:
    """What went wrong, as far as it must not be overlooked."""

    attributes: Attributes
    found: list[tuple[str, str]] = field(default_factory=list)
    """(message, reason of the Status) each."""

    def add_config_error(self, text: str, policy: Policy[Any], binding: Binding | None) -> None:
        """Note a policy that cannot be used, unless its failures are ignored."""
        self._add(text, policy, binding, "Forbidden")

    def add(self, problem: Exception, invocation: Invocation[Mutator]) -> None:
        """Note a policy that went wrong while it ran, unless its failures are ignored."""
        self._add(str(problem), invocation.policy, invocation.binding, "Invalid")

    def _add(self, text: str, policy: Policy[Any], binding: Binding | None, reason: str) -> None:
        if policy.fails:
            who = f"policy {go_quote(policy.name)}"
            if binding is not None:
                who = f"policy '{policy.name}' with binding '{binding.name}'"
            self.found.append((f"{who} denied request: {text}", reason))

    def conclude(self) -> None:
        """Raise a 403 that says all, if there is something to say; its reason is that of the first."""
        if not self.found:
            return
        error = forbidden(self.attributes, "")
        error.message, error.reason = self.found[0]
        assert error.details is not None
        error.details["causes"] = [{"message": message} for message, _ in self.found]
        raise error


def _is_described(match: Match, attributes: Attributes) -> bool:
    """Whether the API description of a kind's version has the kind: what other versions' subresources take is not."""
    return attributes.operation is not Operation.CONNECT and match.kind.group_version == match.resource.group_version


def _require_version_of_request(kind: Kind, attributes: Attributes) -> None:
    """A built-in kind is changed at the version of the request only: the reference converts no changed object back."""
    changed, asked = kind.gvk, attributes.kind
    if kind.builtin and changed.group_version != asked.group_version:
        raise ConfigurationError(
            f"converting ({changed.version}.{changed.kind}) to ({asked.version}.{asked.kind}): unknown conversion"
        )


def _other_kind(patched: Object, said: str, kind: GroupVersionKind) -> errors.ApiError:
    """422: a custom object that a patch has made one of another kind; the reference finds it in validation."""
    wrong = invalid("kind", said, f"must be {kind.kind}")
    return errors.invalid(GroupKind(kind.group, said), (patched.get("metadata") or {}).get("name") or "", [wrong])


def _key(invocation: Invocation[Mutator], param: Object | None) -> _Key:
    metadata = (param or {}).get("metadata") or {}
    return (
        invocation.policy.name,
        invocation.binding.name,
        metadata.get("namespace") or "",
        metadata.get("name") or "",
    )

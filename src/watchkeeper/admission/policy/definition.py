"""A policy and its bindings, read once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from watchkeeper.admission.matching import Criteria
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind

Object = Mapping[str, Any]
E = TypeVar("E")
"""What evaluates a policy."""


class Binding:
    """What puts a policy in force: for which requests, with which parameters, with which consequences."""

    def __init__(self, binding: Object) -> None:
        spec = binding.get("spec") or {}
        self.name: str = binding["metadata"]["name"]
        self.policy_name: str = spec.get("policyName") or ""
        self.actions: Sequence[str] = spec.get("validationActions") or ()
        self.param_ref: Object | None = spec.get("paramRef")
        resources = spec.get("matchResources")
        self.criteria = Criteria.of_policy(resources) if resources is not None else None
        """None matches every request that the policy matches."""

    def __repr__(self) -> str:
        return f"<Binding {self.name} of {self.policy_name}>"


class Policy(Generic[E]):
    """A policy. Its expressions are compiled when the first request matches it."""

    def __init__(self, policy: Object, compile: Callable[[Object], E]) -> None:
        """`compile` makes an evaluator of a policy's spec."""
        self.spec: Object = policy.get("spec") or {}
        self.name: str = policy["metadata"]["name"]
        self.fails = self.spec.get("failurePolicy") != "Ignore"
        """Whether what cannot be evaluated denies."""
        self.criteria = Criteria.of_policy(self.spec.get("matchConstraints") or {})
        self.param_kind = _param_kind(self.spec.get("paramKind"))
        self._compile = compile

    def __repr__(self) -> str:
        return f"<Policy {self.name}>"

    @cached_property
    def evaluator(self) -> E:
        """The compiled expressions."""
        return self._compile(self.spec)


@dataclass(frozen=True, slots=True)
class Hook(Generic[E]):
    """A policy that is in force."""

    policy: Policy[E]
    bindings: tuple[Binding, ...]


def _param_kind(kind: Object | None) -> GroupVersionKind | None:
    if kind is None:
        return None
    version = GroupVersion.parse(kind.get("apiVersion") or "")
    return GroupVersionKind(version.group, version.version, kind.get("kind") or "")

"""The policies and bindings that are stored, and which of them are in force."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from watchkeeper.admission.policy.definition import Binding, Hook, Policy

Object = Mapping[str, Any]
E = TypeVar("E")


class Policies(Generic[E]):
    """All policies of one kind with their bindings.

    `hooks` is empty as long as no policy has a binding; that is all that a request costs then.
    """

    def __init__(self, compile: Callable[[Object], E]) -> None:
        """`compile` makes an evaluator of a policy's spec."""
        self.hooks: tuple[Hook[E], ...] = ()
        """What is in force, ordered by name."""
        self._compile = compile
        self._policies: dict[str, Policy[E]] = {}
        self._bindings: dict[str, Binding] = {}

    def __repr__(self) -> str:
        return f"<Policies: {len(self._policies)} with {len(self._bindings)} bindings>"

    def put_policy(self, policy: Object) -> None:
        """Take a policy in, in place of the one of that name. What its spec says is compiled once."""
        name = policy["metadata"]["name"]
        known = self._policies.get(name)
        if known is None or known.spec != (policy.get("spec") or {}):
            self._policies[name] = Policy(policy, self._compile)
            self._changed()

    def remove_policy(self, name: str) -> None:
        """Forget a policy."""
        if self._policies.pop(name, None) is not None:
            self._changed()

    def replace_policies(self, policies: Iterable[Object]) -> None:
        """Take all policies in, forgetting those that are not there any more."""
        given = {policy["metadata"]["name"]: policy for policy in policies}
        for name in [name for name in self._policies if name not in given]:
            self.remove_policy(name)
        for policy in given.values():
            self.put_policy(policy)

    def put_binding(self, binding: Object) -> None:
        """Take a binding in, in place of the one of that name."""
        self._bindings[binding["metadata"]["name"]] = Binding(binding)
        self._changed()

    def remove_binding(self, name: str) -> None:
        """Forget a binding."""
        if self._bindings.pop(name, None) is not None:
            self._changed()

    def replace_bindings(self, bindings: Iterable[Object]) -> None:
        """Take all bindings in, forgetting those that are not there any more."""
        self._bindings = {binding["metadata"]["name"]: Binding(binding) for binding in bindings}
        self._changed()

    def _changed(self) -> None:
        bound: dict[str, list[Binding]] = {}
        for name in sorted(self._bindings):
            binding = self._bindings[name]
            if binding.policy_name in self._policies:
                bound.setdefault(binding.policy_name, []).append(binding)
        self.hooks = tuple(Hook(self._policies[name], tuple(bound[name])) for name in sorted(bound))

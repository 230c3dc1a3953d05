"""Decides by roles and bindings."""

from __future__ import annotations

from watchkeeper.authz.interface import NO_OPINION, Answer, Attributes, Decision
from watchkeeper.authz.rbac.policy import Policy, all_told

_MAX_REMEMBERED = 4096

_Key = tuple[str, tuple[str, ...], str, str, str, str, str, str, str]


class RbacAuthorizer:
    """Allows what some rule allows that holds for the user; has no opinion on the rest.

    Answers are remembered until roles or bindings change.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self._generation = -1
        self._remembered: dict[_Key, Answer] = {}

    def __repr__(self) -> str:
        return f"<RbacAuthorizer by {self.policy!r}>"

    def authorize(self, attributes: Attributes) -> Answer:
        """Look for a rule."""
        a = attributes
        key = (a.user.name, a.user.groups, a.verb, a.group, a.resource, a.subresource, a.namespace, a.name, a.path)
        if self._generation != self.policy.generation or len(self._remembered) >= _MAX_REMEMBERED:
            self._remembered.clear()
            self._generation = self.policy.generation
        answer = self._remembered.get(key)
        if answer is None:
            answer = self._remembered[key] = self._decide(attributes)
        return answer

    def _decide(self, attributes: Attributes) -> Answer:
        missing: list[str] = []
        for grant in self.policy.grants(attributes.user, attributes.namespace, missing):
            if grant.rule.allows(attributes):
                return Answer(Decision.ALLOW, f"RBAC: allowed by {grant.source}")
        if not missing:
            return NO_OPINION
        return Answer(Decision.NO_OPINION, f"RBAC: {all_told(missing)}")

"""Several authorizers as one."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from watchkeeper.authz.interface import ALLOWED, NO_OPINION, Answer, Attributes, Authorizer, Decision
from watchkeeper.authz.rbac.rule import ALL, Rule
from watchkeeper.request.user import User

EVERYTHING = (
    Rule(verbs=(ALL,), api_groups=(ALL,), resources=(ALL,)),
    Rule(verbs=(ALL,), non_resource_urls=(ALL,)),
)
"""The rules of who may do everything."""


class PrivilegedGroup:
    """Members of system:masters may do everything."""

    def authorize(self, attributes: Attributes) -> Answer:
        """Allow members; leave everybody else to the others."""
        return ALLOWED if attributes.user.is_master else NO_OPINION


class AlwaysAllow:
    """Everybody may do everything; for servers whose clients are known otherwise."""

    def authorize(self, attributes: Attributes) -> Answer:
        """Allow."""
        return ALLOWED

    def rules_for(self, user: User, namespace: str, missing: list[str] | None = None) -> Sequence[Rule]:
        """The rules that hold for a user in a namespace: those for everything."""
        return EVERYTHING


class AuthorizerUnion:
    """Asks each authorizer in turn until one decides. What nobody decides, is refused with all reasons."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    def __repr__(self) -> str:
        return f"<AuthorizerUnion {self._authorizers}>"

    def authorize(self, attributes: Attributes) -> Answer | Awaitable[Answer]:
        """Decide at once as far as the authorizers do."""
        reasons: list[str] = []
        for index, authorizer in enumerate(self._authorizers):
            answer = authorizer.authorize(attributes)
            if not isinstance(answer, Answer):
                return self._go_on(attributes, index, answer, reasons)
            if answer.decision is not Decision.NO_OPINION:
                return answer
            if answer.reason:
                reasons.append(answer.reason)
        return Answer(Decision.NO_OPINION, "\n".join(reasons)) if reasons else NO_OPINION

    async def _go_on(
        self, attributes: Attributes, index: int, pending: Awaitable[Answer], reasons: list[str]
    ) -> Answer:
        answer = await pending
        for authorizer in self._authorizers[index + 1 :]:
            if answer.decision is not Decision.NO_OPINION:
                return answer
            if answer.reason:
                reasons.append(answer.reason)
            following = authorizer.authorize(attributes)
            answer = following if isinstance(following, Answer) else await following
        if answer.decision is not Decision.NO_OPINION:
            return answer
        return Answer(Decision.NO_OPINION, "\n".join([*reasons, answer.reason] if answer.reason else reasons))


async def ask(authorizer: Authorizer, attributes: Attributes) -> Answer:
    """Put a question and wait for the answer."""
    answer = authorizer.authorize(attributes)
    return answer if isinstance(answer, Answer) else await answer

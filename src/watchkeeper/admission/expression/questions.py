"""Questions to the authorizer that expressions ask while they are evaluated.

Evaluation is synchronous; an authorizer need not be. A question whose answer has to be waited for stops the
evaluation with `Undecided`; whoever evaluates waits (`Questions.answer`) and begins anew. Answers are kept for the
request, so that every question is asked once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from watchkeeper.admission.interface import Attributes
from watchkeeper.authz.interface import Answer, Authorizer
from watchkeeper.authz.interface import Attributes as Asked
from watchkeeper.cel.library import authorization
from watchkeeper.cel.library.authorization import Decision, Question
from watchkeeper.request.user import User

_T = TypeVar("_T")


class Undecided(Exception):
    """An answer that has to be waited for."""

    def __init__(self, question: Question, pending: Awaitable[Answer]) -> None:
        super().__init__(f"no answer yet to {question}")
        self.question = question
        self.pending = pending


class Questions:
    """All that the expressions of one request ask."""

    __slots__ = ("_answers", "_attributes", "_authorizer")

    def __init__(self, authorizer: Authorizer, attributes: Attributes) -> None:
        self._authorizer = authorizer
        self._attributes = attributes
        self._answers: dict[Question, Decision] = {}

    def values(self) -> dict[str, Any]:
        """The variables `authorizer` and `authorizer.requestResource`."""
        a = self._attributes
        resource = Question(
            group=a.resource.group,
            resource=a.resource.resource,
            subresource=a.subresource,
            namespace=a.namespace,
            name=a.name,
        )
        return {
            "authorizer": authorization.Authorizer(self._decide),
            "authorizer.requestResource": authorization.ResourceCheck(self._decide, resource),
        }

    async def evaluate(self, evaluate: Callable[[], _T]) -> _T:
        """Run a synchronous evaluation, as often as it takes to answer what it asks."""
        while True:
            try:
                return evaluate()
            except Undecided as undecided:
                await self.answer(undecided)

    async def answer(self, undecided: Undecided) -> None:
        """Wait for an answer."""
        try:
            decision = _decision(await undecided.pending)
        except Exception as error:
            decision = Decision(False, error=str(error))
        self._answers[undecided.question] = decision

    def _decide(self, question: Question) -> Decision:
        known = self._answers.get(question)
        if known is not None:
            return known
        try:
            answer = self._authorizer.authorize(self._asked(question))
        except Exception as error:
            decision = Decision(False, error=str(error))
        else:
            if not isinstance(answer, Answer):
                raise Undecided(question, answer)
            decision = _decision(answer)
        self._answers[question] = decision
        return decision

    def _asked(self, question: Question) -> Asked:
        user = self._attributes.user
        if question.service_account is not None:
            user = _service_account(*question.service_account)
        if question.path:
            return Asked(user=user, verb=question.verb, is_resource=False, path=question.path)
        return Asked(
            user=user,
            verb=question.verb,
            group=question.group,
            version="*",
            resource=question.resource,
            subresource=question.subresource,
            namespace=question.namespace,
            name=question.name,
        )


def _decision(answer: Answer) -> Decision:
    return Decision(answer.allowed, answer.reason)


def _service_account(namespace: str, name: str) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(f"system:serviceaccount:{namespace}:{name}", groups=groups)

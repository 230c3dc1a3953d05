"""The filter that asks whether the user may do what the request asks."""

from __future__ import annotations

from collections.abc import Awaitable

from watchkeeper.authz.interface import Answer, Attributes, Authorizer
from watchkeeper.authz.refusal import forbidden_error
from watchkeeper.endpoints.filters.attributes import attributes_of
from watchkeeper.endpoints.response import Response
from watchkeeper.request.request import Request


class Authorization:
    """Lets a request pass, or refuses with 403.

    Members of system:masters pass without a question being put: no authorizer may stand in their way.
    """

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    def __call__(self, request: Request) -> Awaitable[Response | None] | None:
        """Ask the authorizer. Raises a 403."""
        if request.user.is_master:
            if request.observer is not None:
                _note(request, "allow", "")
            return None
        question = attributes_of(request)
        answer = self._authorizer.authorize(question)
        if isinstance(answer, Answer):
            _judge(request, question, answer)
            return None
        return _wait(request, question, answer)


async def _wait(request: Request, question: Attributes, pending: Awaitable[Answer]) -> Response | None:
    _judge(request, question, await pending)
    return None


def _judge(request: Request, question: Attributes, answer: Answer) -> None:
    if request.observer is not None:
        _note(request, "allow" if answer.allowed else "forbid", answer.reason)
    if not answer.allowed:
        raise forbidden_error(question, answer.reason)


def _note(request: Request, decision: str, reason: str) -> None:
    request.audit["authorization.k8s.io/decision"] = decision
    request.audit["authorization.k8s.io/reason"] = reason

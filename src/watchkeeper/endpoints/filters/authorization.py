"""The filter that asks whether the user may do what the request asks."""

from __future__ import annotations

from collections.abc import Awaitable

from watchkeeper.authz.interface import Answer, Attributes, Authorizer
from watchkeeper.endpoints.filters.attributes import attributes_of
from watchkeeper.endpoints.response import Response
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupResource
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


_NO_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def forbidden_error(question: Attributes, reason: str) -> ApiError:
    """The 403 for a question that was answered with no."""
    message = _refusal(question).translate(_NO_MARKUP)
    why = f"{message}: {reason}" if reason else message
    return errors.forbidden(GroupResource(question.group, question.resource), question.name, why)


def _refusal(question: Attributes) -> str:
    who = f"User {go_quote(question.user.name)} cannot {question.verb}"
    if not question.is_resource:
        return f"{who} path {go_quote(question.path)}"
    resource = question.resource
    if question.subresource:
        resource += f"/{question.subresource}"
    what = f"{who} resource {go_quote(resource)} in API group {go_quote(question.group)}"
    if question.namespace:
        return f"{what} in the namespace {go_quote(question.namespace)}"
    return f"{what} at the cluster scope"

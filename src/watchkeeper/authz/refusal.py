"""How a question that was answered with no reads in a 403."""

from __future__ import annotations

from watchkeeper.authz.interface import Attributes
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupResource

NO_SNIFF = (b"x-content-type-options", b"nosniff")
"""The message repeats what a request says, which no browser may take for a page."""
NO_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""What such a message is translated with, for the same reason."""


def forbidden_error(question: Attributes, reason: str) -> ApiError:
    """The 403 for a question that was answered with no."""
    message = _refusal(question).translate(NO_MARKUP)
    why = f"{message}: {reason}" if reason else message
    refusal = errors.forbidden(GroupResource(question.group, question.resource), question.name, why)
    refusal.headers = (NO_SNIFF,)
    return refusal


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

"""How it is told that a webhook could not be asked, or said no."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote

Object = dict[str, Any]

_MAX_CODE = 999
"""What HTTP has no code for is told as a 500."""


class CallFailed(Exception):
    """A webhook was not reached, or gave no usable answer: its failurePolicy decides."""

    def __init__(self, hook: str, reason: str, code: int) -> None:
        """`code` is the HTTP code that stands for the failure in metrics."""
        super().__init__(f"failed calling webhook {go_quote(hook)}: {reason}")
        self.code = code


def failed_closed(failure: CallFailed) -> ApiError:
    """500 for a request that must not go on without the webhook."""
    return errors.internal_error(str(failure))


def denied(hook: str, status: Object | None) -> ApiError:
    """The error that a webhook's denial is: its own Status, said to be its own; 400 without a better code."""
    status = status or {}
    by = f"admission webhook {go_quote(hook)} denied the request"
    message, reason = status.get("message") or "", status.get("reason") or ""
    if message:
        text = f"{by}: {message}"
    elif reason:
        text = f"{by}: {reason}"
    else:
        text = f"{by} without explanation"
    details: Object | None = status.get("details")
    wait = (details or {}).get("retryAfterSeconds") or 0
    headers = [(b"retry-after", str(wait).encode())] if wait > 0 else []
    code = max(status.get("code") or 0, 400)
    error = ApiError(code if code <= _MAX_CODE else 500, reason, text, details=details, headers=headers)
    error.metadata = status.get("metadata") or {}
    if (outcome := status.get("status")) not in (None, "", "Success"):
        error.outcome = outcome
    return error


def no_dry_run(hook: str) -> ApiError:
    """400 for a dry run that concerns a webhook with side effects."""
    return errors.bad_request(f"admission webhook {go_quote(hook)} does not support dry run")

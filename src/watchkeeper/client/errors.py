"""What goes wrong before a server has answered. What a server answers is an `ApiError`."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta.errors import ApiError


class ClientError(Exception):
    """No answer came; the message says from whom and why."""


class ConfigError(ClientError):
    """A kubeconfig, or a part of one, that cannot be used."""


def error_of(status: int, body: Any, text: str) -> ApiError:
    """The error that a server has answered with; `text` is the body of an answer that is no Status."""
    if isinstance(body, dict) and body.get("kind") == "Status":
        details = body.get("details")
        error = ApiError(
            int(body.get("code") or status),
            str(body.get("reason") or ""),
            str(body.get("message") or text),
            details=details if isinstance(details, dict) else None,
        )
        error.continue_token = str((body.get("metadata") or {}).get("continue") or "")
        return error
    return ApiError(status, "", text.strip() or f"the server answered with {status}")


def is_reason(error: BaseException, *reasons: str) -> bool:
    """Whether it is an answer of a server with one of these reasons, such as NotFound."""
    return isinstance(error, ApiError) and error.reason in reasons

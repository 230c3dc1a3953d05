"""What Go's REST client makes of an answer with an HTTP error: the Status in it, or words for the code."""

from __future__ import annotations

from typing import Any

import orjson

from watchkeeper.aio.http_client import HttpAnswer
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_quote

_MAX_TEXT = 2048
_UNKNOWN = "unknown"
_WORDS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    406: "NotAcceptable",
    409: "AlreadyExists",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    503: "ServiceUnavailable",
    504: "Timeout",
}


def error_of(answer: HttpAnswer) -> ApiError:
    """The error that an answer to a POST stands for."""
    status = _status_in(answer.body)
    if status is not None:
        code = status.get("code")
        return ApiError(
            code if isinstance(code, int) and code else 500,
            str(status.get("reason") or ""),
            str(status.get("message") or ""),
        )
    code = answer.status
    shown = _text_of(answer)
    causes = [{"reason": "UnexpectedServerResponse", "message": shown}]
    return ApiError(code, reason_of(code), words_of(code, shown), details={"causes": causes})


def reason_of(code: int) -> str:
    """The reason that a Status of this code has."""
    return _REASONS.get(code, "InternalError" if code >= 500 else "")


def words_of(code: int, shown: str) -> str:
    """What is said of an answer with this code whose text is `shown`."""
    if code in (403, 415):
        return shown
    if code == 406:
        told = shown not in ("", _UNKNOWN)
        return shown if told else "the server was unable to respond with a content type that the client supports"
    if code in _WORDS:
        return _WORDS[code]
    if code >= 500:
        return f"an error on the server ({go_quote(shown)}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"


def _text_of(answer: HttpAnswer) -> str:
    """The body, as far as it is a text to be shown."""
    media_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type and not media_type.startswith("text/"):
        return _UNKNOWN
    return answer.body[:_MAX_TEXT].decode(errors="replace").strip()


def _status_in(body: bytes) -> dict[str, Any] | None:
    try:
        found = orjson.loads(body)
    except ValueError:
        return None
    if not isinstance(found, dict) or found.get("kind") != "Status" or found.get("status") != "Failure":
        return None
    return found if found.get("apiVersion", "v1") == "v1" else None

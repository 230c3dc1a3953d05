"""Reading the documents that patches are."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.runtime.json_text import HugeNumber, JsonError, read_json
from watchkeeper.runtime.repeated import Pairs, read_pairs, repeats_fields
from watchkeeper.runtime.unmarshal import described

Object = dict[str, Any]


def read_document(body: bytes, *, prefix: str, huge: bool = False) -> Any:
    """The JSON value of a body. Raises a 400 that says what is wrong with it, after `prefix`.

    With `huge`, HugeNumber is raised as it is.
    """
    try:
        return read_json(body)
    except JsonError as error:
        if huge and isinstance(error, HugeNumber):
            raise
        raise errors.bad_request(f"{prefix}{error}") from error


def read_patch(body: bytes, *, prefix: str) -> tuple[Object | None, Pairs | None]:
    """A patch that is to be an object or null, and what tells of fields set twice, if any are. Raises a 400."""
    patch = read_document(body, prefix=prefix)
    if patch is None:
        return None, None
    if not isinstance(patch, dict):
        raise mismatch(patch, "value of type map[string]interface {}", prefix=prefix)
    return patch, read_pairs(body) if repeats_fields(body, patch) else None


def mismatch(value: Any, where: str, *, prefix: str) -> ApiError:
    """400: a value of the wrong type; `where` names the place as Go does."""
    return errors.bad_request(f"{prefix}{go_mismatch(value, where)}")


def go_mismatch(value: Any, where: str) -> str:
    """What Go says of a value of the wrong type."""
    return f"json: cannot unmarshal {described(value)} into Go {where}"

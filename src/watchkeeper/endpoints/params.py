"""Query parameters, read and checked as the reference does: numbers, booleans, options, in its order and words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from watchkeeper.apis.validation.metadata import validate_field_manager
from watchkeeper.meta import errors, fields, labels
from watchkeeper.meta.field import FieldError, forbidden, not_supported, required
from watchkeeper.meta.fields import FieldSelector
from watchkeeper.meta.go_numbers import parse_int
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.meta.label_selector import LabelSelector, SelectorError
from watchkeeper.registry.delete_options import IGNORE_READ_ERRORS, dry_run_errors, read_delete_options
from watchkeeper.registry.rest import DeleteOptions
from watchkeeper.request.request import Request

S = TypeVar("S")

META_GROUP = "meta.k8s.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class ListParams:
    """metav1.ListOptions as they came. None: not given."""

    label_selector: LabelSelector = labels.EVERYTHING
    field_selector: FieldSelector = fields.EVERYTHING
    """As it came: its fields have yet to be known to the kind."""
    watch: bool = False
    """Whether the options are those of a watch."""
    allow_bookmarks: bool = False
    resource_version: str = ""
    match: str = ""
    timeout_seconds: int | None = None
    limit: int = 0
    continue_token: str = ""
    send_initial_events: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteParams:
    """What CreateOptions, UpdateOptions and PatchOptions have in common, and `force`."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    asked_validation: str = ""
    """fieldValidation as it came."""
    force: bool | None = None

    def as_options(self, kind: str) -> dict[str, Any]:
        """The options as JSON, for admission."""
        options: dict[str, Any] = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
        if self.dry_run:
            options["dryRun"] = ["All"]
        if self.field_manager:
            options["fieldManager"] = self.field_manager
        if self.asked_validation:
            options["fieldValidation"] = self.asked_validation
        return options


NO_LIST_PARAMS = ListParams()
DEFAULT_WRITE_PARAMS = WriteParams()


def read_int(request: Request, name: str) -> int | None:
    """A decimal int64 parameter, None when absent; an empty one is no number. Raises a 400 in Go's words."""
    values = request.params.get(name)
    if not values:
        return None
    try:
        return parse_int(values[0])
    except ValueError as error:
        raise errors.bad_request(str(error)) from error


def read_bool(request: Request, name: str) -> bool | None:
    """A boolean parameter: anything but `0` and `false` is true, also an empty value; None when absent."""
    values = request.params.get(name)
    if not values:
        return None
    return values[0].lower() not in ("0", "false")


def read_list_params(request: Request, *, watch: bool) -> ListParams:
    """The options of a list or watch, checked. Raises 400 for malformed and 422 for contradictory ones.

    A path under /watch/ is checked by the rules of lists unless its query says `watch` too, as by the reference.
    """
    if not request.query:
        return ListParams(watch=True) if watch else NO_LIST_PARAMS
    found = _kept.get(request.query)
    if found is None:
        found = _read_list_params(request)
        if len(request.query) <= _KEPT_LENGTH:
            if len(_kept) >= _KEPT:
                _kept.clear()
            _kept[request.query] = found
    return found


_kept: dict[str, ListParams] = {}
"""What queries came to: informers and kubelets ask the same again and again."""
_KEPT = 1024
_KEPT_LENGTH = 256


def _read_list_params(request: Request) -> ListParams:
    # All numbers are read before the selectors are: of several faults the first is told.
    timeout, limit = read_int(request, "timeoutSeconds"), read_int(request, "limit")
    params = ListParams(
        label_selector=_read_selector(request, "labelSelector", labels.parse, labels.EVERYTHING),
        field_selector=_read_selector(request, "fieldSelector", fields.parse, fields.EVERYTHING),
        watch=bool(read_bool(request, "watch")),
        allow_bookmarks=bool(read_bool(request, "allowWatchBookmarks")),
        resource_version=request.param("resourceVersion"),
        match=request.param("resourceVersionMatch"),
        timeout_seconds=timeout,
        limit=limit or 0,
        continue_token=request.param("continue"),
        send_initial_events=read_bool(request, "sendInitialEvents"),
    )
    if params.watch:
        params = _with_initial_events(params)
    wrong = _check_watch(params) if params.watch else _check_list(params)
    if wrong:
        raise errors.invalid(GroupKind(META_GROUP, "ListOptions"), "", wrong)
    return params


def _with_initial_events(params: ListParams) -> ListParams:
    """A watch that begins with the state there is anyway asks for initial events (metav1's SetListOptionsDefaults)."""
    if params.send_initial_events is not None or params.match or params.resource_version not in ("", "0"):
        return params
    return replace(params, send_initial_events=True, match="NotOlderThan")


def _read_selector(request: Request, name: str, parse: Callable[[str], S], everything: S) -> S:
    """A selector, if one is given. Raises a 400."""
    text = request.param(name)
    try:
        return parse(text) if text else everything
    except SelectorError as error:
        raise errors.bad_request(str(error)) from error


def _check_list(params: ListParams) -> list[FieldError]:
    wrong: list[FieldError] = []
    field, match = "resourceVersionMatch", params.match
    if match:
        if not params.resource_version:
            wrong.append(forbidden(field, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
        if params.continue_token:
            wrong.append(forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
        if match not in ("Exact", "NotOlderThan"):
            wrong.append(not_supported(field, match, ["Exact", "NotOlderThan", ""]))
        if match == "Exact" and params.resource_version == "0":
            wrong.append(forbidden(field, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if params.send_initial_events is not None:
        wrong.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return wrong


def _check_watch(params: ListParams) -> list[FieldError]:
    wrong: list[FieldError] = []
    field, match = "resourceVersionMatch", params.match
    if params.send_initial_events is not None and match != "NotOlderThan":
        wrong.append(forbidden(field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if match:
        if params.send_initial_events is None:
            wrong.append(
                forbidden(field, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
            )
        if match != "NotOlderThan":
            wrong.append(not_supported(field, match, ["NotOlderThan"]))
        if params.continue_token:
            wrong.append(forbidden(field, "resourceVersionMatch is forbidden when continue is provided"))
    return wrong


def read_write_params(request: Request, kind: str, *, apply: bool | None = None) -> WriteParams:
    """CreateOptions, UpdateOptions or (`apply` given) PatchOptions, checked. Raises 422 for bad values."""
    if not request.query:
        if apply:
            raise errors.invalid(GroupKind(META_GROUP, kind), "", [_manager_required()])
        return DEFAULT_WRITE_PARAMS
    manager = request.param("fieldManager")
    force = read_bool(request, "force") if apply is not None else None
    dry_run = request.params.get("dryRun", [])
    validation = request.param("fieldValidation")
    wrong: list[FieldError] = []
    if apply and not manager:
        wrong.append(_manager_required())
    if apply is False and force is not None:
        wrong.append(forbidden("force", "may not be specified for non-apply patch"))
    if manager:
        wrong += validate_field_manager(manager, "fieldManager")
    wrong += dry_run_errors(dry_run)
    if validation not in ("", "Ignore", "Warn", "Strict"):
        wrong.append(not_supported("fieldValidation", validation, ["", "Ignore", "Strict", "Warn"], plain=True))
    if wrong:
        raise errors.invalid(GroupKind(META_GROUP, kind), "", wrong)
    return WriteParams(
        dry_run=bool(dry_run),
        field_manager=manager,
        field_validation=validation or "Warn",
        asked_validation=validation,
        force=force,
    )


def _manager_required() -> FieldError:
    return required("fieldManager", "is required for apply patch")


def delete_options_from_query(request: Request) -> DeleteOptions:
    """DeleteOptions given in the query. Raises 400 and 422."""
    if not request.query:
        return DeleteOptions()
    preconditions = {name: value for name in ("uid", "resourceVersion") if (value := request.param(name))}
    body: dict[str, Any] = {
        "gracePeriodSeconds": read_int(request, "gracePeriodSeconds"),
        "preconditions": preconditions or None,
        "orphanDependents": read_bool(request, "orphanDependents"),
        "propagationPolicy": request.params.get("propagationPolicy", [None])[0],
        "dryRun": request.params.get("dryRun", []),
        IGNORE_READ_ERRORS: read_bool(request, IGNORE_READ_ERRORS),
    }
    return read_delete_options(body)

"""What handlers share: the context of a request, selectors, dry names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from watchkeeper.endpoints.params import ListParams
from watchkeeper.endpoints.scope import Scope
from watchkeeper.meta import errors, fields
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.fields import FieldSelector
from watchkeeper.registry.rest import Context
from watchkeeper.request.request import Request
from watchkeeper.runtime.managedfields import completed
from watchkeeper.storage.interface import ListOptions, Match
from watchkeeper.storage.predicate import EVERYTHING, SelectionPredicate, Selector

T = TypeVar("T")

_NAME_ALONE = frozenset({"metadata.name"})
_ALWAYS_SELECTABLE = _NAME_ALONE | {"metadata.namespace"}


def context(request: Request, scope: Scope) -> Context:
    """The registry's context of a request."""
    namespace = request.info.namespace if scope.namespaced else ""
    return Context(user=request.user, namespace=namespace, kind=scope.kind.gvk, warn=request.warn)


def predicate(request: Request, scope: Scope, params: ListParams) -> SelectionPredicate:
    """Both selectors, the fields checked. Raises a 400."""
    name = request.info.parts[1] if len(request.info.parts) > 1 else ""
    label: Selector = params.label_selector
    field: Selector = params.field_selector
    if label.is_empty() and field.is_empty() and not name:
        return EVERYTHING
    if not field.is_empty():
        try:
            field = _known_fields(scope, params.field_selector)
        except fields.SelectorError as error:
            raise errors.bad_request(str(error)) from error
    if name:
        if field.is_empty():
            field = fields.from_set({"metadata.name": name})
        elif field.exact("metadata.name") != name:
            raise errors.bad_request("fieldSelector metadata.name doesn't match requested name")
    return SelectionPredicate(label, field)


def _known_fields(scope: Scope, asked: FieldSelector) -> FieldSelector:
    """The selector in the hub version's names. Raises SelectorError for a field that the kind is not selected by."""
    behavior = scope.behavior
    convert = behavior.extra.get("convert_field_label")
    old_names = behavior.extra.get("old_field_labels", {})
    names = scope.kind.field_labels
    # Cluster-wide kinds that say for themselves what they are selected by leave the namespace out.
    always = _ALWAYS_SELECTABLE if scope.namespaced or behavior.unsupported_field_label is None else _NAME_ALONE

    def check(label: str, value: str) -> tuple[str, str]:
        if convert is not None:
            found: tuple[str, str] = convert(label, value)
            return found
        if label in always:
            return label, value
        if names is not None:
            if label in names:
                return names[label], value
        elif label in behavior.selectable_labels:
            return label, value
        elif label in old_names:
            return old_names[label], value
        if behavior.unsupported_field_label is not None:
            raise fields.SelectorError(behavior.unsupported_field_label(label))
        gvk = scope.kind.gvk
        known = '"metadata.name", "metadata.namespace"'
        raise fields.SelectorError(f"{go_quote(label)} is not a known field selector: only {known}" if gvk else "")

    return asked.transform(check)


async def recorded(scope: Scope, work: Callable[[], T]) -> T:
    """What work that keeps the record of field owners returns, begun anew for each conversion that takes time.

    Only objects of custom resources are converted by others.
    """
    return await completed(work) if scope.of_custom else work()


def list_options(params: ListParams, selected: SelectionPredicate) -> ListOptions:
    """The registry's list options."""
    return ListOptions(
        resource_version=params.resource_version,
        match=Match(params.match),
        limit=params.limit,
        continue_token=params.continue_token,
        predicate=selected,
    )

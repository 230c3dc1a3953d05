"""What the writing handlers share: metadata rules on the way in, admission, ownership of fields."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import orjson

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.authz.interface import Answer
from watchkeeper.authz.interface import Attributes as Question
from watchkeeper.authz.refusal import forbidden_error
from watchkeeper.endpoints.filters.request_deadline import allowed_seconds
from watchkeeper.endpoints.handlers.patches import copy_json
from watchkeeper.endpoints.params import WriteParams
from watchkeeper.endpoints.scope import Scope
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind
from watchkeeper.registry.rest import ValidateCreate, ValidateDelete, ValidateUpdate
from watchkeeper.request.request import Request
from watchkeeper.runtime.managedfields import EntryError, check_record

Object = dict[str, Any]
FIELD_MANAGER_MAX = 128
MAX_WRITE_SECONDS = 34.0
"""How long a write may take, admission included."""
UNSAFE_DELETE = "unsafe-delete-ignore-read-errors"
"""The verb of deletions that ask for removal of what cannot be read."""
_OPTIONS = {
    Operation.CREATE: "CreateOptions",
    Operation.UPDATE: "UpdateOptions",
    Operation.DELETE: "DeleteOptions",
}


def manager_of(request: Request, params: WriteParams) -> str:
    """The field manager: as given, else the User-Agent up to its first slash, printable, at most 128 bytes."""
    if params.field_manager:
        return params.field_manager
    kept: list[str] = []
    size = 0
    agent = request.header(b"user-agent").partition("/")[0]
    for ch in agent if agent.isascii() else agent.encode("latin-1").decode(errors="replace"):
        if ch.isprintable():
            size += len(ch.encode())
            if size > FIELD_MANAGER_MAX:
                break
            kept.append(ch)
    return "".join(kept)


def expected_namespace(request: Request, scope: Scope) -> str:
    """The namespace that a written object must be in: none for cluster-scoped kinds."""
    return request.info.namespace if scope.namespaced else ""


def dedup_owner_references(request: Request, obj: Object, *, after_admission: bool = False) -> None:
    """Drop repeated owner references, telling the client which uids were repeated."""
    meta = obj.get("metadata")
    owners = meta.get("ownerReferences") if meta else None
    if not owners or len(owners) < 2:
        return
    kept: dict[bytes, Object] = {}
    repeated: list[str] = []
    for owner in owners:
        text = orjson.dumps(owner, option=orjson.OPT_SORT_KEYS)
        if text in kept:
            repeated.append(owner.get("uid", ""))
        else:
            kept[text] = owner
    if not repeated:
        return
    assert meta is not None
    meta["ownerReferences"] = list(kept.values())
    uids = ", ".join(repeated)
    where = " after mutating admission happens" if after_admission else ""
    request.warn(
        f".metadata.ownerReferences contains duplicate entries{where}; API server dedups owner references in 1.20+,"
        f" and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {uids}"
    )


class Admission:
    """Admission of one request: attributes filled in as they become known, for each attempt anew."""

    __slots__ = ("_attributes", "kind", "name", "namespace", "params", "request", "scope")

    def __init__(self, request: Request, scope: Scope, params: WriteParams, name: str | None = None) -> None:
        """`name` is that of the object when the path has none; admission knows it so, whatever becomes of it."""
        self.request = request
        self.scope = scope
        self.params = params
        self.kind: GroupVersionKind = scope.kind.gvk
        self.name = request.info.name if name is None else name
        namespace = request.info.namespace
        if not namespace and scope.info.gvr.resource == "namespaces" and not scope.info.gvr.group:
            namespace = self.name
        self.namespace = namespace
        self._attributes: Attributes | None = None

    def _attributes_to_validate(self, operation: Operation, obj: Object, old: Object | None) -> Attributes:
        """What plugins see that refuse: what those saw that changed the object in the same attempt."""
        known, self._attributes = self._attributes, None
        if known is None or known.operation is not operation:
            return self.attributes(operation, obj, old)
        known.obj, known.old = obj, old
        return known

    def attributes(self, operation: Operation, obj: Object | None, old: Object | None) -> Attributes:
        """What plugins see."""
        request, scope = self.request, self.scope
        return Attributes(
            operation=operation,
            kind=self.kind,
            resource=scope.info.gvr,
            subresource=scope.subresource,
            namespace=self.namespace,
            name=self.name,
            user=request.user,
            obj=obj,
            old=old,
            options=self.params.as_options(_OPTIONS[operation]),
            dry_run=self.params.dry_run,
            deadline=request.started + allowed_seconds(request, MAX_WRITE_SECONDS),
            warn=request.warn,
            annotate=request.annotate,
            versions=scope.versions,
            verb=request.info.verb,
        )

    async def mutate(self, operation: Operation, obj: Object, old: Object | None) -> Object:
        """Run mutating admission on an object, in place or not: what is returned goes on."""
        attributes = self._attributes = self.attributes(operation, obj, old)
        record = _record_of(obj)
        chain = self.scope.services.admission
        if old is not None and operation in chain.deep and self.scope.shares_parts:
            attributes.obj = copy_json(obj)
        waiting = chain.admit(attributes)
        if waiting is not None:
            await waiting
        assert attributes.obj is not None
        self._keep_record(attributes.obj, record)
        dedup_owner_references(self.request, attributes.obj, after_admission=True)
        return attributes.obj

    def _keep_record(self, obj: Object, before: Any) -> None:
        """Put the record of field owners back if admission has made it something that cannot be understood."""
        record = _record_of(obj)
        if record is before:
            return
        try:
            check_record(record)
        except EntryError as error:
            if before is None:
                del obj["metadata"]["managedFields"]
            else:
                obj["metadata"]["managedFields"] = before
            self.request.warn(
                ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated"
                f" mutating admission controller; please fix your requests: {error}"
            )

    def validate_create(self, *, authorize: bool = False) -> ValidateCreate:
        """Validating admission of a create; with `authorize` the user is first asked for the right to create."""

        async def validate(obj: Object) -> None:
            if authorize:
                await authorize_create(self.request, self.scope)
            attributes = self._attributes_to_validate(Operation.CREATE, obj, None)
            if not attributes.name:
                # Generated meanwhile, or another attempt at one.
                attributes.name = (obj.get("metadata") or {}).get("name") or ""
            waiting = self.scope.services.admission.validate(attributes)
            if waiting is not None:
                await waiting

        return validate

    def validate_update(self) -> ValidateUpdate:
        """Validating admission of an update."""

        async def validate(obj: Object, old: Object) -> None:
            waiting = self.scope.services.admission.validate(self._attributes_to_validate(Operation.UPDATE, obj, old))
            if waiting is not None:
                await waiting

        return validate

    async def complete(self, refusal: ApiError, obj: Object, old: Object | None) -> ApiError:
        """The refusal of what breaks the rules of its kind, with what else is wrong."""
        finders = self.scope.services.admission.finders(self.scope.info.group_resource)
        if not finders:
            return refusal
        operation = Operation.CREATE if old is None else Operation.UPDATE
        attributes = self._attributes_to_validate(operation, obj, old)
        more = [fault for finder in finders for fault in await finder.faults(attributes)]
        if not more:
            return refusal
        of = self.kind.group_kind
        return errors.invalid(of, (obj.get("metadata") or {}).get("name") or "", [*more, *refusal.faults])

    def validate_delete(self, options: Callable[[], Object]) -> ValidateDelete:
        """Admission of a deletion: both kinds of plugins are asked, as nothing can be changed.

        `options` are DeleteOptions as they are when admission is asked.
        """

        async def validate(old: Object) -> None:
            attributes = self.attributes(Operation.DELETE, None, old)
            attributes.options = options()
            await self.scope.services.admission.judge(attributes)

        return validate


def _record_of(obj: Object) -> Any:
    metadata = obj.get("metadata")
    return metadata.get("managedFields") if metadata else None


async def authorize_create(request: Request, scope: Scope) -> None:
    """An update that creates needs the right to create. Raises a 403."""
    question = _question(request, "create")
    answer = await _ask(scope, question)
    if not answer.allowed:
        raise forbidden_error(question, answer.reason)


async def authorize_unsafe_delete(request: Request, scope: Scope) -> None:
    """Removing what cannot be read needs a right of its own. Raises a 403."""
    question = _question(request, UNSAFE_DELETE)
    answer = await _ask(scope, question)
    if not answer.allowed:
        why = f'not permitted to do "{UNSAFE_DELETE}", reason: {answer.reason}'
        raise errors.forbidden(scope.info.group_resource, request.info.name, why)


async def _ask(scope: Scope, question: Question) -> Answer:
    answer = scope.services.authorizer.authorize(question)
    return await answer if isinstance(answer, Awaitable) else answer


def _question(request: Request, verb: str) -> Question:
    """Whether the user may do something else to the object of a request."""
    info = request.info
    return Question(
        user=request.user,
        verb=verb,
        group=info.group,
        version=info.version,
        resource=info.resource,
        subresource=info.subresource,
        namespace=info.namespace,
        name=info.name,
        path=info.path,
    )

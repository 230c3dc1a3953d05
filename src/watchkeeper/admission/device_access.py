"""Who may give out devices: claims with administrators' access, and the parts of a claim's status.

The reference asks while it validates (registry/resource/utils.go), so refusals are those of an invalid object.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.matching.namespaces import NamespaceReader, Namespaces, labels_of
from watchkeeper.apis.validation.names import name_is_dns_subdomain
from watchkeeper.authn.service_accounts import split_username
from watchkeeper.authz.interface import Attributes as Question
from watchkeeper.authz.interface import Authorizer
from watchkeeper.authz.refusal import forbidden_error
from watchkeeper.authz.union import ask
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import FieldError, forbidden, internal_error
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.request.user import User

Object = dict[str, Any]

_GROUP = "resource.k8s.io"
_CLAIMS = GroupResource(_GROUP, "resourceclaims")
_TEMPLATES = GroupResource(_GROUP, "resourceclaimtemplates")
_ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_NODE_NAME = "authentication.kubernetes.io/node-name"
_NO_CLAIM = f"admin access to devices requires the `{_ADMIN_LABEL}: true` label on the containing namespace"


class DeviceAccess(BasePlugin):
    """Keeps administrators' access to labeled namespaces, and statuses of claims to those who may bind or report."""

    name = "DeviceAccess"
    deep = False
    operations = frozenset({Operation.CREATE, Operation.UPDATE})
    resources = frozenset({_CLAIMS, _TEMPLATES})

    def __init__(self, authorizer: Authorizer, read_namespace: NamespaceReader) -> None:
        self._authorizer = authorizer
        self._read_namespace = read_namespace

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Look into new claims and templates, and into what is written to the status of a claim."""
        if attributes.subresource == ("" if attributes.operation is Operation.CREATE else "status"):
            return self._judge(attributes)
        return None

    async def _judge(self, attributes: Attributes) -> None:
        _refuse(attributes, await self.faults(attributes))

    async def faults(self, attributes: Attributes) -> Sequence[FieldError]:
        """What somebody may not give out."""
        assert attributes.obj is not None
        if attributes.operation is Operation.CREATE and not attributes.subresource:
            path = _admin_access(_requests(attributes), "spec.devices.requests")
            return await self._admin_errors(attributes, path) if path else []
        if attributes.operation is Operation.UPDATE and attributes.subresource == "status":
            return await self._status_faults(attributes, _Change.of(attributes))
        return []

    async def _status_faults(self, attributes: Attributes, change: _Change) -> Sequence[FieldError]:
        found: list[FieldError] = []
        if path := change.admin_access():
            found += await self._admin_errors(attributes, path)
        verb = attributes.verb
        if change.binds and (refused := await self._refusal(attributes, verb, "binding", "", "")) is not None:
            what = "changing status.allocation or status.reservedFor requires"
            need = f'resource="resourceclaims/binding", verb="{verb}" permission'
            found.append(forbidden("status.allocation", f"{what} {need}: {refused.message}"))
        verbs = [f"arbitrary-node:{verb}"]
        if _is_on_node(attributes.user, change.node()):
            verbs.insert(0, f"associated-node:{verb}")
        for driver in sorted(change.drivers()):
            if (refused := await self._driver_refusal(attributes, verbs, driver)) is not None:
                need = f'resource="resourceclaims/driver", verb="[{" ".join(verbs)}]" permission'
                found.append(forbidden("status.devices", f"changing status.devices requires {need}: {refused.message}"))
        return found

    async def _admin_errors(self, attributes: Attributes, path: str) -> list[FieldError]:
        try:
            namespace = await Namespaces(self._read_namespace).get(attributes.namespace)
        except ApiError as error:
            return [internal_error(path, f"could not retrieve namespace to verify admin access: {error.message}")]
        return [] if (labels_of(namespace) or {}).get(_ADMIN_LABEL) == "true" else [forbidden(path, _NO_CLAIM)]

    async def _driver_refusal(self, attributes: Attributes, verbs: Iterable[str], driver: str) -> ApiError | None:
        first: ApiError | None = None
        for verb in verbs:
            refused = await self._refusal(attributes, verb, "driver", attributes.namespace, driver)
            if refused is None:
                return None
            first = first or refused
        return first

    async def _refusal(
        self, attributes: Attributes, verb: str, subresource: str, namespace: str, name: str
    ) -> ApiError | None:
        question = Question(
            user=attributes.user,
            verb=verb,
            group=_GROUP,
            version=attributes.resource.version,
            resource=_CLAIMS.resource,
            subresource=subresource,
            namespace=namespace,
            name=name,
        )
        answer = await ask(self._authorizer, question)
        return None if answer.allowed else forbidden_error(question, answer.reason)


def _refuse(attributes: Attributes, found: Sequence[FieldError]) -> None:
    if found:
        assert attributes.obj is not None
        raise errors.invalid(attributes.kind.group_kind, attributes.obj["metadata"].get("name") or "", found)


def _requests(attributes: Attributes) -> Sequence[Object]:
    """What devices a claim or the claim of a template asks for."""
    assert attributes.obj is not None
    spec = attributes.obj.get("spec") or {}
    if attributes.resource.group_resource == _TEMPLATES:
        spec = spec.get("spec") or {}
    return [request.get("exactly") or {} for request in (spec.get("devices") or {}).get("requests") or ()]


def _admin_access(devices: Sequence[Object], path: str) -> str:
    """Where administrators' access is asked for first, "" when nowhere."""
    return next((f"{path}[{i}].adminAccess" for i, device in enumerate(devices) if device.get("adminAccess")), "")


@dataclass(frozen=True, slots=True)
class _Change:
    """A status of a claim and the one before."""

    new: Object
    old: Object

    @classmethod
    def of(cls, attributes: Attributes) -> _Change:
        assert attributes.obj is not None and attributes.old is not None
        return cls(attributes.obj.get("status") or {}, attributes.old.get("status") or {})

    @property
    def binds(self) -> bool:
        """Whether it says anew what is allocated, or for whom."""
        new, old = self.new, self.old
        reserved = (new.get("reservedFor") or None) != (old.get("reservedFor") or None)
        return reserved or new.get("allocation") != old.get("allocation")

    def admin_access(self) -> str:
        """Where administrators' access is given that was not given before, "" when nowhere."""
        path = "status.allocation.devices.results"
        return "" if _admin_access(_results(self.old), path) else _admin_access(_results(self.new), path)

    def drivers(self) -> set[str]:
        """Whose devices are reported in another way than before; of nobody's where nothing is allocated any more."""
        if not self.new.get("allocation"):
            return set()
        new, old = (_by_key(status.get("devices") or ()) for status in (self.new, self.old))
        return {key[0] for key in new.keys() | old.keys() if new.get(key) != old.get(key)}

    def node(self) -> str:
        """The one node that the devices are allocated on, "" when there is no such thing."""
        selector = (self.new.get("allocation") or {}).get("nodeSelector") or {}
        match selector.get("nodeSelectorTerms"):
            case [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}], **rest}] if (
                not rest.get("matchExpressions")
            ):
                return str(node)
        return ""


def _results(status: Object) -> Sequence[Object]:
    results: Sequence[Object] = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
    return results


_KEY = ("driver", "pool", "device", "shareID")


def _by_key(devices: Sequence[Object]) -> dict[tuple[str, ...], Object]:
    return {tuple(device.get(field) or "" for field in _KEY): device for device in devices}


def _is_on_node(user: User, node: str) -> bool:
    """Whether a user is a service account whose token is bound to a node, and that node is the one."""
    if not node or split_username(user.name) is None:
        return False
    return tuple(user.extra.get(_NODE_NAME, ())) == (node,) and not name_is_dns_subdomain(node)

"""Who may approve and sign CertificateSigningRequests, and which subject they must not be for."""

from __future__ import annotations

import base64
from collections.abc import Awaitable
from typing import Any

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.refusal import forbidden
from watchkeeper.authz.interface import Attributes as Question
from watchkeeper.authz.interface import Authorizer
from watchkeeper.authz.union import ask
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupResource
from watchkeeper.request.user import SYSTEM_MASTERS, User
from watchkeeper.runtime.x509 import signing_request

Object = dict[str, Any]

_REQUESTS = GroupResource("certificates.k8s.io", "certificatesigningrequests")
_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"


class _SignerPlugin(BasePlugin):
    """What needs the right to do something as a signer: that signer by name, or all of its domain."""

    operations = frozenset({Operation.UPDATE})
    resources = frozenset({_REQUESTS})

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer

    async def _require(self, attributes: Attributes, verb: str) -> None:
        """Raise a 403 unless the user may `verb` as the signer that the stored request names."""
        signer = _spec(attributes.old).get("signerName") or ""
        names = (signer, f"{signer.partition('/')[0]}/*")
        for name in names:
            if await self._may(attributes.user, verb, name):
                return
        raise forbidden(attributes, f"user not permitted to {verb} requests with signerName {go_quote(signer)}")

    async def _may(self, user: User, verb: str, name: str) -> bool:
        question = Question(
            user=user, verb=verb, group="certificates.k8s.io", version="*", resource="signers", name=name
        )
        return (await ask(self._authorizer, question)).allowed


class CertificateApproval(_SignerPlugin):
    """Approving a request needs the right to approve for its signer."""

    name = "CertificateApproval"

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Ask about updates of approvals."""
        if not _is_about_requests(attributes) or attributes.subresource != "approval":
            return None
        return self._require(attributes, "approve")


class CertificateSigning(_SignerPlugin):
    """Issuing a certificate needs the right to sign as the signer."""

    name = "CertificateSigning"

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Ask about updates of a status that change the certificate or the conditions."""
        if not _is_about_requests(attributes) or attributes.subresource != "status":
            return None
        new, old = _status(attributes.obj), _status(attributes.old)
        if all((new.get(name) or None) == (old.get(name) or None) for name in ("certificate", "conditions")):
            return None
        return self._require(attributes, "sign")


class CertificateSubjectRestriction(BasePlugin):
    """Nobody gets a client certificate of the administrators' group."""

    name = "CertificateSubjectRestriction"
    operations = frozenset({Operation.CREATE})
    resources = frozenset({_REQUESTS})

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        """Look into new requests for client certificates."""
        if not _is_about_requests(attributes) or attributes.subresource:
            return None
        spec = _spec(attributes.obj)
        if spec.get("signerName") != _CLIENT_SIGNER:
            return None
        try:
            organizations = _organizations(spec.get("request") or "")
        except ValueError as fault:
            raise forbidden(attributes, f"failed to parse CSR: {fault}") from None
        if SYSTEM_MASTERS in organizations:
            why = f"use of {_CLIENT_SIGNER} signer with {SYSTEM_MASTERS} group is not allowed"
            raise forbidden(attributes, why)
        return None


def _is_about_requests(attributes: Attributes) -> bool:
    return attributes.resource.resource == _REQUESTS.resource and attributes.resource.group == _REQUESTS.group


def _spec(obj: Object | None) -> Object:
    return (obj or {}).get("spec") or {}


def _status(obj: Object | None) -> Object:
    return (obj or {}).get("status") or {}


def _organizations(request: str) -> list[str | bytes]:
    """The groups in the subject of a request in base64. Raises ValueError for one that is broken."""
    # Loaded at the first request only: few servers ever see one, and the library takes long to load.
    from cryptography.x509 import NameOID

    parsed = signing_request(base64.b64decode(request))
    return [attribute.value for attribute in parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]

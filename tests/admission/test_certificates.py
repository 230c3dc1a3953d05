"""Approving and signing need rights for the signer; client certificates of administrators are not to be had."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

from watchkeeper.admission.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
)
from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.authz.interface import ALLOWED, NO_OPINION, Answer
from watchkeeper.authz.interface import Attributes as Asked
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

Object = dict[str, Any]


class MayAs:
    """Lets everybody act as some signers."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.asked: list[Asked] = []

    def authorize(self, attributes: Asked) -> Answer:
        self.asked.append(attributes)
        return ALLOWED if attributes.name in self.names else NO_OPINION


def refusal(plugin: BasePlugin, obj: Object, old: Object | None, operation: Operation, subresource: str) -> str:
    attributes = Attributes(
        operation=operation,
        kind=GroupVersionKind("certificates.k8s.io", "v1", "CertificateSigningRequest"),
        resource=GroupVersionResource("certificates.k8s.io", "v1", "certificatesigningrequests"),
        namespace="",
        name="r",
        user=User("u"),
        subresource=subresource,
        obj=obj,
        old=old,
        options={},
    )

    async def run() -> str:
        try:
            waiting = plugin.validate(attributes)
            if waiting is not None:
                await waiting
        except ApiError as error:
            assert error.code == 403
            return error.message.partition(" is forbidden: ")[2]
        return ""

    return asyncio.run(run())


REQUEST = {"metadata": {"name": "r"}, "spec": {"signerName": "example.io/one"}}


def test_approval_needs_the_right_to_approve_as_the_signer_or_for_its_domain() -> None:
    def asked(*names: str) -> str:
        return refusal(CertificateApproval(MayAs(*names)), REQUEST, REQUEST, Operation.UPDATE, "approval")

    assert asked("example.io/one") == asked("example.io/*") == ""
    assert asked("other/*") == 'user not permitted to approve requests with signerName "example.io/one"'


def test_signing_needs_the_right_to_sign_only_when_something_is_signed() -> None:
    signed = {**REQUEST, "status": {"certificate": "x"}}
    authorizer = MayAs()
    plugin = CertificateSigning(authorizer)
    assert refusal(plugin, REQUEST, REQUEST, Operation.UPDATE, "status") == ""
    assert authorizer.asked == []
    assert refusal(plugin, signed, REQUEST, Operation.UPDATE, "status") == (
        'user not permitted to sign requests with signerName "example.io/one"'
    )
    assert [(q.verb, q.group, q.resource, q.name) for q in authorizer.asked] == [
        ("sign", "certificates.k8s.io", "signers", "example.io/one"),
        ("sign", "certificates.k8s.io", "signers", "example.io/*"),
    ]


def test_nobody_gets_a_client_certificate_of_the_administrators() -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def request(organization: str, signer: str) -> Object:
        subject = x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, organization)])
        key = ec.generate_private_key(ec.SECP256R1())
        built = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
        pem = built.public_bytes(serialization.Encoding.PEM)
        return {
            "metadata": {"name": "r"},
            "spec": {"signerName": signer, "request": base64.b64encode(pem).decode()},
        }

    client = "kubernetes.io/kube-apiserver-client"

    def asked(obj: Object) -> str:
        return refusal(CertificateSubjectRestriction(), obj, None, Operation.CREATE, "")

    assert asked(request("system:masters", client)) == (
        f"use of {client} signer with system:masters group is not allowed"
    )
    assert asked(request("devs", client)) == asked(request("system:masters", "example.io/one")) == ""
    for text in (b"-----BEGIN X-----\n!\n-----END X-----\n", b"Bag Attributes: -----BEGIN nothing\n"):
        hidden = request("system:masters", client)
        hidden["spec"]["request"] = base64.b64encode(text + base64.b64decode(hidden["spec"]["request"])).decode()
        assert "system:masters group is not allowed" in asked(hidden)


def test_a_request_for_a_client_certificate_that_cannot_be_read_is_refused() -> None:
    obj = {"metadata": {"name": "r"}, "spec": {"signerName": "kubernetes.io/kube-apiserver-client", "request": "eA=="}}
    assert refusal(CertificateSubjectRestriction(), obj, None, Operation.CREATE, "") == (
        "failed to parse CSR: PEM block type must be CERTIFICATE REQUEST"
    )

"""Signing requests as they were stored at v1beta1, where nobody had to say who was to sign what for."""

from __future__ import annotations

import base64
from typing import Any

from watchkeeper.runtime.x509 import signing_request

Object = dict[str, Any]

_KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
_KUBELET_SERVING = "kubernetes.io/kubelet-serving"
_UNKNOWN = "kubernetes.io/legacy-unknown"
_USAGES = ["digital signature", "key encipherment"]


def signing_request_at_v1(request: Object) -> Object:
    """A CertificateSigningRequest with the defaults of v1beta1 (pkg/apis/certificates/v1beta1). Consumes it."""
    spec = request.setdefault("spec", {})
    if spec.get("usages") is None:
        spec["usages"] = list(_USAGES)
    if spec.get("signerName") is None:
        spec["signerName"] = _signer(str(spec.get("request") or ""), set(spec["usages"]))
    for condition in (request.get("status") or {}).get("conditions") or ():
        if not condition.get("status"):
            condition["status"] = "True"
    return request


def _signer(request: str, usages: set[str]) -> str:
    """Who was meant to sign, by what is asked for: kubelets ask for certificates of two kinds."""
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    try:
        parsed = signing_request(base64.b64decode(request))
        names = _alternative_names(parsed)
        organizations = [a.value for a in parsed.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)]
        common = [str(a.value) for a in parsed.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    except (ValueError, x509.UnsupportedGeneralNameType):
        return _UNKNOWN
    if organizations != ["system:nodes"] or not common or not common[-1].startswith("system:node:"):
        return _UNKNOWN
    purposes = usages - {"key encipherment"}
    if purposes == {"digital signature", "client auth"} and not names & {"dns", "ip", "email", "uri"}:
        return _KUBELET_CLIENT
    if purposes == {"digital signature", "server auth"} and names & {"dns", "ip"} and not names & {"email", "uri"}:
        return _KUBELET_SERVING
    return _UNKNOWN


def _alternative_names(parsed: Any) -> set[str]:
    """Which sorts of names a request has besides its subject."""
    from cryptography import x509

    sorts: dict[type, str] = {
        x509.DNSName: "dns",
        x509.IPAddress: "ip",
        x509.RFC822Name: "email",
        x509.UniformResourceIdentifier: "uri",
    }
    try:
        found = parsed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {sorts.get(type(name), "") for name in found}

"""The rules of names of certificate signers and of the trust bundles that belong to them."""

from __future__ import annotations

from watchkeeper.apis.validation.names import (
    DNS1123_LABEL_MAX,
    DNS1123_SUBDOMAIN_MAX,
    byte_length,
    is_dns1123_label,
    is_dns1123_subdomain,
    name_is_dns_subdomain,
)
from watchkeeper.meta.field import FieldError, go_quote, invalid, required, too_long

_MAX_SIGNER = DNS1123_SUBDOMAIN_MAX + 1 + DNS1123_SUBDOMAIN_MAX + 1 + DNS1123_LABEL_MAX


def is_kubernetes_signer(name: str) -> bool:
    """Whether a signer is one of Kubernetes' own."""
    host = name.partition("/")[0]
    return host == "kubernetes.io" or host.endswith(".kubernetes.io")


def validate_signer_name(name: str, path: str) -> list[FieldError]:
    """A signer's name is a domain of two segments or more, a slash, and a dotted name."""
    if not name:
        return [required(path)]
    segments = name.split("/")
    if len(segments) != 2:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(path, name, text)]
    domain, rest = segments
    errors: list[FieldError] = []
    if byte_length(domain) > DNS1123_SUBDOMAIN_MAX:
        errors.append(too_long(path, "", DNS1123_SUBDOMAIN_MAX))
    labels = domain.split(".")
    for label in labels:
        if wrong := is_dns1123_label(label):
            errors += [invalid(path, domain, f"validating label {go_quote(label)}: {text}") for text in wrong]
            break
    if len(labels) < 2:
        text = "should be a domain with at least two segments separated by dots"
        errors.append(invalid(path, domain, text))
    for label in rest.split("."):
        if wrong := is_dns1123_subdomain(label):
            errors += [invalid(path, rest, f"validating label {go_quote(label)}: {text}") for text in wrong]
            break
    if byte_length(name) > _MAX_SIGNER:
        errors.append(too_long(path, "", _MAX_SIGNER))
    return errors


def trust_bundle_name_errors(signer: str, name: str, prefix: bool = False) -> list[str]:
    """What is wrong with the name of a ClusterTrustBundle that belongs to a signer, or to none ("")."""
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return name_is_dns_subdomain(name, prefix)
    needed = signer.replace("/", ":") + ":"
    if not name.startswith(needed):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {needed}"]
    return name_is_dns_subdomain(name.removeprefix(needed), prefix)


def signer_of_trust_bundle(name: str) -> str:
    """The signer that the name of a ClusterTrustBundle tells of; "" for none."""
    head, colon, _ = name.rpartition(":")
    return head.replace(":", "/") if colon else ""

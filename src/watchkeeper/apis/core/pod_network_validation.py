"""The rules of a Pod's network: host ports, DNS configuration, host names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.validation.names import (
    byte_length,
    is_dns1123_subdomain,
    is_dns1123_subdomain_with_underscore,
)
from watchkeeper.apis.validation.net import validate_legacy_ip
from watchkeeper.meta.field import FieldError, forbidden, invalid, required, too_long

Object = Mapping[str, Any]

_MAX_NAMESERVERS = 3
_MAX_SEARCH_PATHS = 32
_MAX_SEARCH_BYTES = 2048
_MAX_HOSTNAME_OVERRIDE = 64


def validate_host_network_ports(containers: Sequence[Object], path: str, options: PodOptions) -> list[FieldError]:
    """On the host network, host ports are the containers' own."""
    errors: list[FieldError] = []
    text = "must match `containerPort` when `hostNetwork` is true"
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort") or 0
            if (options.in_pod or host) and host != (port.get("containerPort") or 0):
                errors.append(invalid(f"{path}.containers[{i}].ports[{j}].hostPort", host, text))
    return errors


def validate_dns_config(spec: Object, path: str) -> list[FieldError]:
    """The DNS configuration of a spec, which the policy None requires."""
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{path}.nameservers", text)]
    if not config:
        return []
    errors: list[FieldError] = []
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > _MAX_NAMESERVERS:
        text = f"must not have more than {_MAX_NAMESERVERS} nameservers"
        errors.append(invalid(f"{path}.nameservers", servers, text))
    for i, server in enumerate(servers):
        errors += validate_legacy_ip(server, f"{path}.nameservers[{i}]")
    if len(searches) > _MAX_SEARCH_PATHS:
        text = f"must not have more than {_MAX_SEARCH_PATHS} search paths"
        errors.append(invalid(f"{path}.searches", searches, text))
    if byte_length(" ".join(searches)) > _MAX_SEARCH_BYTES:
        text = f"must not have more than {_MAX_SEARCH_BYTES} characters (including spaces) in the search list"
        errors.append(invalid(f"{path}.searches", searches, text))
    for i, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            wrong = is_dns1123_subdomain_with_underscore(name)
            errors += [invalid(f"{path}.searches[{i}]", name, text) for text in wrong]
    for i, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            errors.append(required(f"{path}.options[{i}]", "must not be empty"))
    return errors


def validate_hostname_override(spec: Object, path: str) -> list[FieldError]:
    """A host name set regardless of the Pod's own, if there is one."""
    name = spec.get("hostnameOverride")
    if name is None:
        return []
    at = f"{path}.hostnameOverride"
    errors: list[FieldError] = []
    if spec.get("setHostnameAsFQDN"):
        errors.append(forbidden(at, "may not be specified when setHostnameAsFQDN is true"))
    if spec.get("hostNetwork"):
        errors.append(forbidden(at, "may not be specified when hostNetwork is true"))
    if byte_length(name) > _MAX_HOSTNAME_OVERRIDE:
        errors.append(too_long(at, "", _MAX_HOSTNAME_OVERRIDE))
    return errors + [invalid(at, name, text) for text in is_dns1123_subdomain(name)]


def validate_host_aliases(aliases: Sequence[Object], path: str) -> list[FieldError]:
    """Extra lines for the hosts file: addresses with names."""
    errors: list[FieldError] = []
    for i, alias in enumerate(aliases):
        errors += validate_legacy_ip(alias.get("ip") or "", f"{path}[{i}].ip")
        for j, name in enumerate(alias.get("hostnames") or ()):
            at = f"{path}[{i}].hostnames[{j}]"
            errors += [invalid(at, name, text) for text in is_dns1123_subdomain(name)]
    return errors

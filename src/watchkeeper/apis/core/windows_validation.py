"""The rules of pods for Windows and of the options that only Windows has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from watchkeeper.apis.validation.names import byte_length, is_dns1123_subdomain
from watchkeeper.meta.field import FieldError, forbidden, invalid, not_supported, required

Object = Mapping[str, Any]

_GMSA_KIB = 64
_MAX_DOMAIN = 256
_MAX_USER = 104
_control_search = re.compile("[\x00-\x1f\x7f]").search
_netbios = re.compile(r'[^\\/:\*\?"<>|\.][^\\/:\*\?"<>|]{0,14}').fullmatch
_DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_dns_domain = re.compile(rf"{_DNS_LABEL}(?:\.{_DNS_LABEL})*").fullmatch
_bad_user_search = re.compile(r'["/\\:;|=,\+\*\?<>@\[\]]').search
_dots_only = re.compile(r"[\. ]+").fullmatch
_POD_CONTEXT_FIELDS = (
    ("securityContext", "appArmorProfile"),
    ("securityContext", "seLinuxOptions"),
    ("", "hostUsers"),
    ("", "hostPID"),
    ("", "hostIPC"),
    ("securityContext", "seccompProfile"),
    ("securityContext", "fsGroup"),
    ("securityContext", "fsGroupChangePolicy"),
    ("securityContext", "sysctls"),
    ("", "shareProcessNamespace"),
    ("securityContext", "runAsUser"),
    ("securityContext", "runAsGroup"),
    ("securityContext", "supplementalGroups"),
    ("securityContext", "supplementalGroupsPolicy"),
    ("securityContext", "seLinuxChangePolicy"),
)
_CONTAINER_FIELDS = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)
_EMPTY_IS_UNSET = frozenset(("hostPID", "hostIPC", "sysctls"))


def each_container(spec: Object, path: str) -> Iterator[tuple[Object, str]]:
    """Every container of a spec with its path: init containers, containers, ephemeral containers."""
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in enumerate(spec.get(kind) or ()):
            yield container, f"{path}.{kind}[{i}]"


def validate_windows_options(options: Object | None, path: str) -> list[FieldError]:
    """The Windows options of a security context, if there are any."""
    if options is None:
        return []
    errors: list[FieldError] = []
    name = options.get("gmsaCredentialSpecName")
    if name is not None:
        at = f"{path}.gmsaCredentialSpecName"
        errors += [invalid(at, name, text) for text in is_dns1123_subdomain(name)]
    spec = options.get("gmsaCredentialSpec")
    if spec is not None:
        at = f"{path}.gmsaCredentialSpec"
        if not spec:
            errors.append(invalid(at, spec, "gmsaCredentialSpec cannot be an empty string"))
        elif byte_length(spec) > _GMSA_KIB * 1024:
            errors.append(invalid(at, spec, f"gmsaCredentialSpec size must be under {_GMSA_KIB} KiB"))
    user = options.get("runAsUserName")
    if user is not None:
        errors += [invalid(f"{path}.runAsUserName", user, text) for text in _user_name_errors(user)]
    return errors


def _user_name_errors(value: str) -> list[str]:
    if not value:
        return ["runAsUserName cannot be an empty string"]
    if _control_search(value):
        return ["runAsUserName cannot contain control characters"]
    parts = value.split("\\")
    if len(parts) > 2:
        return ["runAsUserName cannot contain more than one backslash"]
    errors = []
    user = parts[-1]
    if len(parts) == 2:
        domain = parts[0]
        if byte_length(domain) >= _MAX_DOMAIN:
            errors.append(f"runAsUserName's Domain length must be under {_MAX_DOMAIN} characters")
        if _netbios(domain) is None and _dns_domain(domain) is None:
            errors.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not user:
        errors.append("runAsUserName's User cannot be empty")
    elif byte_length(user) > _MAX_USER:
        errors.append(f"runAsUserName's User length must not be longer than {_MAX_USER} characters")
    if _dots_only(user):
        errors.append("runAsUserName's User cannot contain only periods or spaces")
    if _bad_user_search(user):
        errors.append("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return errors


def _host_process(context: Object | None) -> bool | None:
    options = (context or {}).get("windowsOptions") or {}
    value: bool | None = options.get("hostProcess")
    return value


def validate_host_process(spec: Object, path: str) -> list[FieldError]:
    """HostProcess containers: all or none, and on the host network."""
    errors: list[FieldError] = []
    pod = _host_process(spec.get("securityContext"))
    count = total = 0
    for container, at in each_container(spec, path):
        total += 1
        own = _host_process(container.get("securityContext"))
        if pod is not None and own is not None and pod != own:
            was = "true" if pod else "false"
            text = f"pod hostProcess value must be identical if both are specified, was {was}"
            errors.append(invalid(f"{at}.securityContext.windowsOptions.hostProcess", own, text))
        if own or (own is None and pod):
            count += 1
    if count:
        if count != total:
            text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
            errors.append(invalid(path, "", text))
        if not spec.get("hostNetwork"):
            text = "hostNetwork must be true if pod contains any hostProcess containers"
            errors.append(invalid(f"{path}.hostNetwork", False, text))
    return errors


def validate_os(spec: Object, path: str) -> list[FieldError]:
    """The operating system of a pod, and the fields that it excludes."""
    os_name = (spec.get("os") or {}).get("name") or ""
    if not os_name:
        return [required(f"{path}.os.name")]
    if os_name not in ("linux", "windows"):
        return [not_supported(f"{path}.os", os_name, ("linux", "windows"))]
    return _linux_errors(spec, path) if os_name == "linux" else _windows_errors(spec, path)


def _linux_errors(spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    text = "windows options cannot be set for a linux pod"
    if (spec.get("securityContext") or {}).get("windowsOptions") is not None:
        errors.append(forbidden(f"{path}.securityContext.windowsOptions", text))
    for container, at in each_container(spec, path):
        if (container.get("securityContext") or {}).get("windowsOptions") is not None:
            errors.append(forbidden(f"{at}.securityContext.windowsOptions", text))
    return errors


def _windows_errors(spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    text = "cannot be set for a windows pod"
    context = spec.get("securityContext") or {}
    for owner, name in _POD_CONTEXT_FIELDS:
        value = context.get(name) if owner else spec.get(name)
        if value is not None and not (name in _EMPTY_IS_UNSET and not value):
            errors.append(forbidden(f"{path}.{owner}.{name}" if owner else f"{path}.{name}", text))
    for container, at in each_container(spec, path):
        own = container.get("securityContext") or {}
        wrong = [name for name in _CONTAINER_FIELDS if own.get(name) is not None]
        errors += [forbidden(f"{at}.securityContext.{name}", text) for name in wrong]
    return errors

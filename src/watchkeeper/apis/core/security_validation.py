"""The rules of security contexts: users and groups, seccomp, AppArmor, capabilities, sysctls."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from watchkeeper.apis.core.go_form import go_form
from watchkeeper.apis.core.pod_options import PodOptions
from watchkeeper.apis.core.windows_validation import validate_windows_options
from watchkeeper.apis.validation.internal_form import InternalForm, internal_form
from watchkeeper.apis.validation.names import byte_length, inclusive_range_error
from watchkeeper.apis.validation.paths import validate_local_descending_path
from watchkeeper.meta.field import FieldError, duplicate, invalid, not_supported, required, too_long

Object = Mapping[str, Any]

_PROFILE: InternalForm = {"type": ("Type", ""), "localhostProfile": ("LocalhostProfile", None)}
_MAX_ID = 2**31 - 1
_ID_RANGE = inclusive_range_error(0, _MAX_ID)
PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL = "([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_sysctl_match = re.compile(_SYSCTL).fullmatch
_MAX_SYSCTL = 253
_MAX_APPARMOR_PATH = 4095
_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "fs.mqueue.")


def validate_id(value: int | None, path: str) -> list[FieldError]:
    """A user or group id, if there is one."""
    return [] if value is None or 0 <= value <= _MAX_ID else [invalid(path, value, _ID_RANGE)]


def validate_container_security(context: Object, path: str, *, host_users: bool) -> list[FieldError]:
    """A container's security context. `host_users`: whether the pod shares the host's user namespace."""
    errors: list[FieldError] = []
    errors += validate_id(context.get("runAsUser"), f"{path}.runAsUser")
    errors += validate_id(context.get("runAsGroup"), f"{path}.runAsGroup")
    proc_mount = context.get("procMount")
    if proc_mount is not None:
        if proc_mount not in ("Default", "Unmasked"):
            errors.append(not_supported(f"{path}.procMount", proc_mount, ("Default", "Unmasked")))
        if host_users and proc_mount == "Unmasked":
            text = "`hostUsers` must be false to use `Unmasked`"
            errors.append(invalid(f"{path}.procMount", proc_mount, text))
    errors += validate_seccomp_field(context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        errors += _escalation_errors(context, path)
    errors += validate_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions")
    return errors + validate_apparmor_field(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def _escalation_errors(context: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if context.get("privileged"):
        text = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        errors.append(invalid(path, go_form(context, "SecurityContext"), text))
    added: Iterable[str] = (context.get("capabilities") or {}).get("add") or ()
    text = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
    errors += [invalid(path, go_form(context, "SecurityContext"), text) for name in added if name == "CAP_SYS_ADMIN"]
    return errors


def validate_seccomp_field(profile: Object | None, path: str) -> list[FieldError]:
    """A seccomp profile, if there is one."""
    if profile is None:
        return []
    errors: list[FieldError] = []
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        errors.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in PROFILE_TYPES:
        errors.append(not_supported(f"{path}.type", kind, PROFILE_TYPES))
    if kind == "Localhost":
        if local is None:
            text = "must be set when seccomp type is Localhost"
            errors.append(required(f"{path}.localhostProfile", text))
        else:
            errors += validate_local_descending_path(local, f"{path}.localhostProfile")
    elif local is not None:
        text = "can only be set when seccomp type is Localhost"
        errors.append(invalid(f"{path}.localhostProfile", internal_form(profile, _PROFILE), text))
    return errors


def validate_apparmor_field(profile: Object | None, path: str) -> list[FieldError]:
    """An AppArmor profile, if there is one."""
    if profile is None:
        return []
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    at = f"{path}.localhostProfile"
    if kind == "Localhost":
        return _local_apparmor(local, at)
    if not kind:
        return [required(f"{path}.type", "type is required when appArmorProfile is set")]
    if kind not in PROFILE_TYPES:
        return [not_supported(f"{path}.type", kind, PROFILE_TYPES)]
    if local is not None:
        return [invalid(at, local, "can only be set when AppArmor type is Localhost")]
    return []


def _local_apparmor(local: str | None, path: str) -> list[FieldError]:
    needed = required(path, "must be set when AppArmor type is Localhost")
    if local is None:
        return [needed]
    errors: list[FieldError] = []
    if local.strip() != local:
        errors.append(invalid(path, local, "must not be padded with whitespace"))
    elif not local:
        errors.append(needed)
    if byte_length(local) > _MAX_APPARMOR_PATH:
        errors.append(too_long(path, "", _MAX_APPARMOR_PATH))
    return errors


def validate_pod_security(spec: Object, path: str, options: PodOptions) -> list[FieldError]:
    """A pod's security context, at `path`."""
    context: Object = spec.get("securityContext") or {}
    errors: list[FieldError] = []
    for name in ("fsGroup", "runAsUser", "runAsGroup"):
        errors += validate_id(context.get(name), f"{path}.{name}")
    for i, group in enumerate(context.get("supplementalGroups") or ()):
        errors += validate_id(group, f"{path}.supplementalGroups[{i}]")
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        text = "ShareProcessNamespace and HostPID cannot both be enabled"
        errors.append(invalid(f"{path}.shareProcessNamespace", True, text))
    errors += _sysctl_errors(context.get("sysctls") or (), spec, f"{path}.sysctls", options.allow_host_sysctls)
    errors += _choice(context, "fsGroupChangePolicy", path, ("Always", "OnRootMismatch"))
    errors += validate_seccomp_field(context.get("seccompProfile"), f"{path}.seccompProfile")
    errors += validate_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions")
    errors += validate_apparmor_field(context.get("appArmorProfile"), f"{path}.appArmorProfile")
    errors += _choice(context, "supplementalGroupsPolicy", path, ("Merge", "Strict"))
    policies = ("MountOption", "Recursive") if options.allow_any_selinux_policy else ("Recursive",)
    return errors + _choice(context, "seLinuxChangePolicy", path, policies)


def _choice(context: Object, field: str, path: str, supported: tuple[str, ...]) -> list[FieldError]:
    value = context.get(field)
    return [] if value is None or value in supported else [not_supported(f"{path}.{field}", value, supported)]


def _sysctl_errors(sysctls: Iterable[Object], spec: Object, path: str, allow_host: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, sysctl in enumerate(sysctls):
        name, at = sysctl.get("name") or "", f"{path}[{i}].name"
        if not name:
            errors.append(required(at))
        elif len(name) > _MAX_SYSCTL or _sysctl_match(name) is None:
            text = f"must have at most {_MAX_SYSCTL} characters and match regex ^{_SYSCTL}$"
            errors.append(invalid(at, name, text))
        elif name in seen:
            errors.append(duplicate(at, name))
        if not allow_host:
            errors += _host_sysctl_errors(name, spec, at)
        seen.add(name)
    return errors


def _host_sysctl_errors(name: str, spec: Object, path: str) -> list[FieldError]:
    dotted = _dotted(name)
    if spec.get("hostNetwork") and dotted.startswith("net."):
        return [invalid(path, name, "may not be specified when 'hostNetwork' is true")]
    if spec.get("hostIPC") and (dotted.startswith(_IPC_SYSCTLS) or dotted == "kernel.sem"):
        return [invalid(path, name, "may not be specified when 'hostIPC' is true")]
    return []


def uses_host_sysctls(spec: Object) -> bool:
    """Whether a spec sets sysctls of a namespace that it shares with the host."""
    sysctls = (spec.get("securityContext") or {}).get("sysctls") or ()
    return any(_host_sysctl_errors(sysctl.get("name") or "", spec, "") for sysctl in sysctls)


def _dotted(name: str) -> str:
    """A sysctl's name with dots between its parts, if slashes come first."""
    first_slash, first_dot = name.find("/"), name.find(".")
    if first_slash == -1 or -1 < first_dot < first_slash:
        return name
    return name.translate(str.maketrans("./", "/."))

"""The rules of probes and lifecycle hooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from watchkeeper.apis.core.stop_signals import LINUX_SIGNALS, WINDOWS_SIGNALS
from watchkeeper.apis.validation.metadata import NEGATIVE
from watchkeeper.apis.validation.names import is_http_header_name, is_port_name
from watchkeeper.apis.validation.numbers import validate_port_number, validate_port_number_or_name
from watchkeeper.meta.field import FieldError, forbidden, invalid, not_supported, required

Object = Mapping[str, Any]

_HTTP_SCHEMES = ("HTTP", "HTTPS")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_PLAIN_FIELDS = frozenset((*_COUNTS, "httpGet"))
_PROBE_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc")
_LIFECYCLE_HANDLERS = ("exec", "httpGet", "tcpSocket", "sleep")


def _is_plain_probe(probe: Object) -> bool:
    """Whether a defaulted probe is of the usual sort, in which nothing can be wrong."""
    action = probe.get("httpGet")
    return (
        action is not None
        and _is_plain_http(action)
        and probe.get("successThreshold") == 1
        and probe.get("timeoutSeconds", 0) > 0
        and probe.get("periodSeconds", 0) > 0
        and probe.get("failureThreshold", 0) > 0
        and probe.get("initialDelaySeconds", 0) >= 0
        and probe.keys() <= _PLAIN_FIELDS
    )


def validate_liveness_probe(probe: Object, path: str) -> list[FieldError]:
    """A liveness or startup probe: one success is enough."""
    if _is_plain_probe(probe):
        return []
    errors = _probe_errors(probe, path)
    if probe.get("successThreshold") != 1:
        errors.append(invalid(f"{path}.successThreshold", probe.get("successThreshold") or 0, "must be 1"))
    return errors


def validate_readiness_probe(probe: Object, path: str) -> list[FieldError]:
    """A readiness probe: it kills nobody, so it has no grace period."""
    if _is_plain_probe(probe):
        return []
    errors = _probe_errors(probe, path)
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None:
        text = "must not be set for readinessProbes"
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", seconds, text))
    return errors


def _probe_errors(probe: Object, path: str) -> list[FieldError]:
    errors = _handler_errors(probe, path, _PROBE_HANDLERS, None)
    for name in _COUNTS:
        count = probe.get(name)
        if count and count < 0:
            errors.append(invalid(f"{path}.{name}", count, NEGATIVE))
    seconds = probe.get("terminationGracePeriodSeconds")
    if seconds is not None and seconds <= 0:
        errors.append(invalid(f"{path}.terminationGracePeriodSeconds", seconds, "must be greater than 0"))
    return errors


def _handler_errors(handler: Object, path: str, kinds: tuple[str, ...], grace_period: int | None) -> list[FieldError]:
    errors: list[FieldError] = []
    found = False
    for kind in kinds:
        action = handler.get(kind)
        if action is None:
            continue
        if found:
            errors.append(forbidden(f"{path}.{kind}", "may not specify more than 1 handler type"))
            continue
        found = True
        if kind == "httpGet":
            if not _is_plain_http(action):
                errors += _http_errors(action, f"{path}.httpGet")
        elif kind == "exec":
            if not action.get("command"):
                errors.append(required(f"{path}.exec.command"))
        elif kind == "tcpSocket":
            errors += validate_port_number_or_name(action.get("port", 0), f"{path}.tcpSocket.port")
        elif kind == "grpc":
            errors += validate_port_number(action.get("port") or 0, f"{path}.grpc.port")
        else:
            errors += _sleep_errors(action, grace_period, f"{path}.sleep")
    if not found:
        errors.append(required(path, "must specify a handler type"))
    return errors


def _is_plain_http(action: Object) -> bool:
    port = action.get("port")
    ok = not is_port_name(port) if isinstance(port, str) else port is not None and 1 <= port <= 65535
    return bool(ok and action.get("path") and action.get("scheme") in _HTTP_SCHEMES and "httpHeaders" not in action)


def _http_errors(action: Object, path: str) -> list[FieldError]:
    errors = [] if action.get("path") else [required(f"{path}.path")]
    errors += validate_port_number_or_name(action.get("port", 0), f"{path}.port")
    scheme = action.get("scheme") or ""
    if scheme not in _HTTP_SCHEMES:
        errors.append(not_supported(f"{path}.scheme", scheme, _HTTP_SCHEMES))
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        errors += [invalid(f"{path}.httpHeaders", name, text) for text in is_http_header_name(name)]
    return errors


def _sleep_errors(action: Object, grace_period: int | None, path: str) -> list[FieldError]:
    seconds = action.get("seconds") or 0
    if grace_period is None or 0 <= seconds <= grace_period:
        return []
    text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace_period})"
    return [invalid(path, seconds, text)]


def validate_lifecycle(
    lifecycle: Object, path: str, *, grace_period: int | None, os_name: str | None
) -> list[FieldError]:
    """The hooks and the stop signal of a container. `os_name` is that of the pod; None if it has none."""
    errors: list[FieldError] = []
    for hook in ("postStart", "preStop"):
        handler = lifecycle.get(hook)
        if handler is not None:
            errors += _handler_errors(handler, f"{path}.{hook}", _LIFECYCLE_HANDLERS, grace_period)
    signal = lifecycle.get("stopSignal")
    if signal is not None:
        errors += _stop_signal_errors(signal, f"{path}.stopSignal", os_name)
    return errors


def _stop_signal_errors(signal: str, path: str, os_name: str | None) -> list[FieldError]:
    if os_name is None:
        return [forbidden(path, "may not be set for containers with empty `spec.os.name`")]
    known = {"windows": WINDOWS_SIGNALS, "linux": LINUX_SIGNALS}.get(os_name)
    if known is None or signal in known:
        return []
    return [not_supported(path, signal, known)]

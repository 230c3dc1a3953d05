"""What is wrong with the options of the audit log, in kube-apiserver's words where it has any."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from watchkeeper.audit.legacy import FORMATS
from watchkeeper.audit.sinks import MODES
from watchkeeper.meta.field import go_quote
from watchkeeper.server.errors import StartupError

if TYPE_CHECKING:
    from watchkeeper.server.options import ServeOptions

_VERSION = "audit.k8s.io/v1"


def check_audit(options: ServeOptions) -> None:
    """Raises StartupError."""
    used = (
        ("log", "path", bool(options.audit_log_path)),
        ("webhook", "config-file", options.audit_webhook_config_file is not None),
    )
    for plugin, flag, given in used:
        if given and options.audit_policy_file is None:
            raise StartupError(f"--audit-{plugin}-{flag} needs --audit-policy-file, which says what is told of")
        mode, version = getattr(options, f"audit_{plugin}_mode"), getattr(options, f"audit_{plugin}_version")
        if mode not in MODES:
            modes = go_quote(",".join(MODES))
            raise StartupError(f"invalid audit {plugin} mode {mode}, allowed modes are {modes}")
        if version != _VERSION:
            raise StartupError('invalid group version, allowed versions are [{"audit.k8s.io" "v1"}]')
        if mode == "batch":
            _check_batches(options, plugin)
        _check_truncation(options, plugin)
    if options.audit_log_format not in FORMATS:
        formats = go_quote(",".join(FORMATS))
        raise StartupError(f"invalid audit log format {options.audit_log_format}, allowed formats are {formats}")
    for flag, number in (
        ("--audit-log-maxsize", options.audit_log_maxsize),
        ("--audit-log-maxbackup", options.audit_log_maxbackup),
        ("--audit-log-maxage", options.audit_log_maxage),
    ):
        if number < 0:
            raise StartupError(f"{flag} {number} can't be a negative number")


def _check_truncation(options: ServeOptions, plugin: str) -> None:
    event = getattr(options, f"audit_{plugin}_truncate_max_event_size")
    batch = getattr(options, f"audit_{plugin}_truncate_max_batch_size")
    what = f"invalid audit truncate {plugin}"
    if event <= 0:
        raise StartupError(f"{what} max event size {event}, must be a positive number")
    if batch < event:
        raise StartupError(f"{what} max batch size {batch}, must be greater than max event size ({event})")


def _check_batches(options: ServeOptions, plugin: str) -> None:
    def given(name: str) -> Any:
        return getattr(options, f"audit_{plugin}_batch_{name}")

    numbers = [("buffer size", given("buffer_size")), ("max batch size", given("max_size"))]
    if given("throttle_enable"):
        numbers += [("throttle QPS", given("throttle_qps")), ("throttle burst", given("throttle_burst"))]
    for name, number in numbers:
        if number <= 0:
            raise StartupError(f"invalid audit batch {plugin} {name} {number:g}, must be a positive number")

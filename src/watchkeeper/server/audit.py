"""The audit log of a server, as its options want it."""

from __future__ import annotations

from watchkeeper.audit.log import AuditLog, LogOptions
from watchkeeper.audit.policy import PolicyError, parse_policy
from watchkeeper.endpoints.filters.audit import Auditing
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions


async def open_audit_log(options: ServeOptions) -> tuple[Auditing, AuditLog] | None:
    """The filters and the log that they write to, None when no log is wanted.

    Whoever opens it closes the log. Raises StartupError: the policy is none, or the log cannot be written.
    """
    file = options.audit_policy_file
    if file is None:
        return None
    try:
        policy = parse_policy(file.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise StartupError(f'failed to read file path "{file}": {error}') from error
    except PolicyError as error:
        raise StartupError(f"loading audit policy file: {error}: from file {file}") from error
    if not options.audit_log_path:
        return None
    written = LogOptions(
        path=options.audit_log_path,
        max_size=options.audit_log_maxsize,
        max_backups=options.audit_log_maxbackup,
        max_age=options.audit_log_maxage,
        mode=options.audit_log_mode,
    )
    audit_log = AuditLog(written)
    try:
        await audit_log.start()
    except OSError as error:
        raise StartupError(f"--audit-log-path: {error}") from error
    return Auditing(policy, audit_log), audit_log

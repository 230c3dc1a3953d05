"""The audit log of a server, as its options want it."""

from __future__ import annotations

from watchkeeper.audit.log import AuditLog, LogOptions
from watchkeeper.audit.policy import PolicyError, parse_policy
from watchkeeper.audit.sinks import AllSinks, Sink, Truncating
from watchkeeper.endpoints.filters.audit import Auditing
from watchkeeper.server.errors import StartupError
from watchkeeper.server.options import ServeOptions


async def open_audit_log(options: ServeOptions) -> tuple[Auditing, Sink] | None:
    """The filters and what they write to, None when nothing is to be told of.

    Whoever opens it closes that. Raises StartupError: the policy is none, or the log cannot be written.
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
    # The webhook first: nothing has to be closed when it cannot be had.
    sinks = [*_webhook(options), *await _log(options)]
    if not sinks:
        return None
    sink = sinks[0] if len(sinks) == 1 else AllSinks(sinks)
    return Auditing(policy, sink), sink


async def _log(options: ServeOptions) -> list[Sink]:
    if not options.audit_log_path:
        return []
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
    if not options.audit_log_truncate_enabled:
        return [audit_log]
    return [Truncating(audit_log, options.audit_log_truncate_max_event_size)]


def _webhook(options: ServeOptions) -> list[Sink]:
    if options.audit_webhook_config_file is None:
        return []
    from watchkeeper.audit.webhook import AuditWebhook, WebhookOptions
    from watchkeeper.webhook.backend import Backend

    try:
        backend = Backend(options.audit_webhook_config_file)
    except (OSError, ValueError) as error:
        raise StartupError(f"initializing audit webhook: {error}") from error
    webhook = AuditWebhook(
        backend,
        WebhookOptions(
            mode=options.audit_webhook_mode,
            initial_backoff=options.audit_webhook_initial_backoff,
            buffer_size=options.audit_webhook_batch_buffer_size,
            max_batch_size=options.audit_webhook_batch_max_size,
            max_batch_wait=options.audit_webhook_batch_max_wait,
            throttle=options.audit_webhook_batch_throttle_enable,
            qps=options.audit_webhook_batch_throttle_qps,
            burst=options.audit_webhook_batch_throttle_burst,
        ),
    )
    webhook.start()
    if not options.audit_webhook_truncate_enabled:
        return [webhook]
    return [Truncating(webhook, options.audit_webhook_truncate_max_event_size)]

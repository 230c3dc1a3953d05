"""The audit log of a server, as its options want it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from watchkeeper.audit.batches import Batched, BatchOptions
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
        format=options.audit_log_format,
        compress=options.audit_log_compress,
    )
    audit_log = AuditLog(written)
    try:
        await audit_log.start()
    except OSError as error:
        raise StartupError(f"--audit-log-path: {error}") from error
    sink: Sink = audit_log
    if options.audit_log_mode == "batch":
        batches = BatchOptions(**_batches(options, "log"))
        if batches.max_batch_wait <= 0 and not batches.throttle:
            # Then nobody could tell how many lines are written at a time.
            batches = replace(batches, max_batch_size=batches.buffer_size)
        sink = batched = Batched(audit_log, batches)
        batched.start()
    if not options.audit_log_truncate_enabled:
        return [sink]
    return [Truncating(sink, options.audit_log_truncate_max_event_size)]


def _batches(options: ServeOptions, plugin: str) -> dict[str, Any]:
    names = {
        "buffer_size": "buffer_size",
        "max_batch_size": "max_size",
        "max_batch_wait": "max_wait",
        "throttle": "throttle_enable",
        "qps": "throttle_qps",
        "burst": "throttle_burst",
    }
    return {field: getattr(options, f"audit_{plugin}_batch_{name}") for field, name in names.items()}


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
            **_batches(options, "webhook"),
        ),
    )
    webhook.start()
    if not options.audit_webhook_truncate_enabled:
        return [webhook]
    return [Truncating(webhook, options.audit_webhook_truncate_max_event_size)]

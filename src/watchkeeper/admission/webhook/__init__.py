"""Dynamic admission webhooks: MutatingWebhookConfiguration and ValidatingWebhookConfiguration at work.

`HookSource` knows the webhooks of the configurations that are stored. `MutatingWebhooks` and `ValidatingWebhooks` are
the plugins that ask them.
"""

from watchkeeper.admission.webhook.caller import Caller
from watchkeeper.admission.webhook.metrics import WebhookMetrics
from watchkeeper.admission.webhook.mutating import MutatingWebhooks
from watchkeeper.admission.webhook.selection import Selector
from watchkeeper.admission.webhook.source import HookSource
from watchkeeper.admission.webhook.validating import ValidatingWebhooks

__all__ = ["Caller", "HookSource", "MutatingWebhooks", "Selector", "ValidatingWebhooks", "WebhookMetrics"]

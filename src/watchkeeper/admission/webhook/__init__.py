"""Dynamic admission webhooks: MutatingWebhookConfiguration and ValidatingWebhookConfiguration at work.

`source.HookSource` knows the webhooks of the configurations that are stored. `mutating.MutatingWebhooks` and
`validating.ValidatingWebhooks` are the plugins that ask them, by a `caller.Caller`.
"""

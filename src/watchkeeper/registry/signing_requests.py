"""CertificateSigningRequests say who asks: the server writes that, not the requester."""

from __future__ import annotations

from watchkeeper.registry.rest import Context, Object
from watchkeeper.registry.store import Store, StoreConfig
from watchkeeper.registry.strategy import Strategy


class SigningRequestStrategy(Strategy):
    """Writes the requester into new requests."""

    def before_create(self, ctx: Context, obj: Object) -> None:
        """Fill in name, uid, groups and extra of the user, in place of whatever was sent. Raises Invalid."""
        spec = obj.setdefault("spec", {})
        user = ctx.user
        asked: Object = {
            "username": user.name,
            "uid": user.uid,
            "groups": list(user.groups),
            "extra": {key: list(values) for key, values in user.extra.items()},
        }
        for name, value in asked.items():
            if value:
                spec[name] = value
            else:
                spec.pop(name, None)
        super().before_create(ctx, obj)


class SigningRequestStore(Store):
    """The store of requests."""

    def __init__(self, config: StoreConfig) -> None:
        plain = config.strategy
        config.strategy = SigningRequestStrategy(
            plain.kind, plain.behavior, namespaced=plain.namespaced, has_status=plain.has_status
        )
        super().__init__(config)

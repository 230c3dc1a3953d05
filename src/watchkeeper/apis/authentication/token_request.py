"""TokenRequests, which are sent to the token subresource of service accounts."""

from __future__ import annotations

from typing import Any

from watchkeeper.meta.gvk import GroupVersionKind

Object = dict[str, Any]

_HOUR = 3600


def _default(request: Object) -> None:
    spec: Object = request.setdefault("spec", {})
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = _HOUR


DEFAULTS = {GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest"): _default}

"""What a request asks of authorization."""

from __future__ import annotations

from watchkeeper.authz.interface import Attributes
from watchkeeper.request.request import Request


def attributes_of(request: Request) -> Attributes:
    """The question that a request puts to the authorizer."""
    info = request.info
    if not info.is_resource:
        return Attributes(user=request.user, verb=info.verb, is_resource=False, path=info.path)
    return Attributes(
        user=request.user,
        verb=info.verb,
        group=info.group,
        version=info.version,
        resource=info.resource,
        subresource=info.subresource,
        namespace=info.namespace,
        name=info.name,
        path=info.path,
    )

"""Refuses what would be written, on a server that is there to be looked into."""

from __future__ import annotations

from collections.abc import Awaitable

from watchkeeper.admission.interface import Attributes, BasePlugin, Operation
from watchkeeper.admission.matching.exemption import is_review
from watchkeeper.admission.refusal import forbidden
from watchkeeper.meta.gvk import GroupResource

_ACCOUNTS = GroupResource("", "serviceaccounts")


class ReadOnly(BasePlugin):
    """The first plugin of a read-only server: no webhook gets to know of a write that will not be.

    What stores nothing passes: dry runs, reviews, tokens, connections.
    """

    name = "ReadOnly"
    deep = False
    operations = frozenset({Operation.CREATE, Operation.UPDATE, Operation.DELETE})

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raises 403 for a write."""
        if attributes.dry_run or is_review(attributes) or _is_token(attributes):
            return None
        raise forbidden(attributes, "this server is read-only (--read-only): nothing is written to its storage")


def _is_token(attributes: Attributes) -> bool:
    return attributes.subresource == "token" and attributes.resource.group_resource == _ACCOUNTS

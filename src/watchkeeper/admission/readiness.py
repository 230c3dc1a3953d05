"""Nothing is written while it is not known which policies and webhooks would have to judge it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from watchkeeper.admission.interface import Attributes, BasePlugin
from watchkeeper.admission.matching.exemption import is_exempt
from watchkeeper.admission.refusal import forbidden


class ConfigurationKnown(BasePlugin):
    """Refuses all but what is about admission's own configuration until the latter is known.

    So an unreadable policy is no way around policies, and it can be repaired or removed (the plugins of kube-apiserver
    wait for their informers, and refuse in the same words).
    """

    name = "ConfigurationKnown"
    deep = False

    def __init__(self) -> None:
        self._unknown: list[Callable[[], Sequence[str]]] = []

    def until(self, missing: Callable[[], Sequence[str]]) -> None:
        """Refuse until `missing` names nothing; it is not asked again after that."""
        self._unknown.append(missing)

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raises 403 while something is not known."""
        while self._unknown and not self._unknown[-1]():
            self._unknown.pop()
        if self._unknown and not is_exempt(attributes):
            raise forbidden(attributes, "not yet ready to handle request")
        return None

    validate = admit

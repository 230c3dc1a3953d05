"""One webhook of a configuration, read once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from watchkeeper.admission.matching import Criteria
from watchkeeper.apis.validation.webhooks import REVIEW_VERSIONS
from watchkeeper.webhook import ClientConfig

if TYPE_CHECKING:
    from watchkeeper.admission.expression import MatchConditions

_WITHOUT_EFFECTS = ("None", "NoneOnDryRun")


class Hook:
    """What a webhook wants to be asked about, and how it is asked. Immutable."""

    def __init__(self, configuration: str, uid: str, hook: Mapping[str, Any]) -> None:
        """`uid` tells webhooks of the same name in the same configuration apart."""
        self.configuration = configuration
        self.uid = uid
        self.name: str = hook.get("name") or ""
        self.criteria = Criteria.of_webhook(hook)
        self.ignores_failures = hook.get("failurePolicy") == "Ignore"
        self.reinvocable = hook.get("reinvocationPolicy") == "IfNeeded"
        self.side_effects: str | None = hook.get("sideEffects")
        self.timeout: int = hook.get("timeoutSeconds") or 10
        """Seconds."""
        versions = hook.get("admissionReviewVersions") or ()
        self.review_version: str | None = next((v for v in versions if v in REVIEW_VERSIONS), None)
        """The first version of AdmissionReview that both sides know."""
        self._hook = hook

    def __repr__(self) -> str:
        return f"<Hook {self.uid}>"

    @property
    def dry_runs(self) -> bool:
        """Whether it may be asked about a write that is not going to be."""
        return self.side_effects in _WITHOUT_EFFECTS

    @property
    def has_conditions(self) -> bool:
        """Whether it has match conditions."""
        return bool(self._hook.get("matchConditions"))

    @cached_property
    def conditions(self) -> MatchConditions:
        """Its match conditions, compiled when they are first needed."""
        from watchkeeper.admission.expression import MatchConditions

        return MatchConditions(self._hook.get("matchConditions"), self._hook.get("failurePolicy"))

    @cached_property
    def client_config(self) -> ClientConfig:
        """Where it is."""
        return ClientConfig.of(self._hook.get("clientConfig") or {})

"""The contract of authorization: what is asked, and how an authorizer answers."""

from __future__ import annotations

import enum
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Protocol

from watchkeeper.request.user import User


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributes:
    """One question: may this user do that? (authorizer.AttributesRecord)"""

    user: User
    verb: str
    is_resource: bool = True
    group: str = ""
    version: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Decision(enum.Enum):
    """What an authorizer says. NO_OPINION leaves it to the next; in the end it refuses."""

    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


@dataclass(frozen=True, slots=True)
class Answer:
    """A decision and, for people, why."""

    decision: Decision
    reason: str = ""

    @property
    def allowed(self) -> bool:
        """Whether the user may."""
        return self.decision is Decision.ALLOW


ALLOWED = Answer(Decision.ALLOW)
NO_OPINION = Answer(Decision.NO_OPINION)


class Authorizer(Protocol):
    """Decides. Answers at once when it can; an awaitable otherwise."""

    def authorize(self, attributes: Attributes) -> Answer | Awaitable[Answer]:
        """Whether the user may do what the attributes say."""
        ...

"""Who is asking."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SYSTEM_MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"


@dataclass(frozen=True, slots=True)
class User:
    """An authenticated identity (authentication.k8s.io UserInfo)."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def is_master(self) -> bool:
        """Whether every authorizer lets this user pass."""
        return SYSTEM_MASTERS in self.groups


ANONYMOUS = User("system:anonymous", groups=(UNAUTHENTICATED,))
LOOPBACK = User("system:apiserver", groups=(SYSTEM_MASTERS, AUTHENTICATED))
"""The server itself, such as its controllers."""

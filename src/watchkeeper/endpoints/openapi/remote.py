"""Where other API servers have their documents of v3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from watchkeeper.endpoints.response import PathHandler
from watchkeeper.meta.gvk import GroupVersion


@dataclass(frozen=True, slots=True)
class RemoteDocument:
    """The URL of a document on its server, and who passes requests for it on."""

    url: str
    handler: PathHandler


class RemoteDocuments:
    """What each remote version's server tells of: of its own version before all others, else what nobody else has."""

    def __init__(self) -> None:
        self._told: dict[GroupVersion, dict[str, RemoteDocument]] = {}
        self._own: dict[str, RemoteDocument] = {}
        self._others: dict[str, RemoteDocument] = {}

    def __repr__(self) -> str:
        return f"<RemoteDocuments of {len(self._told)} versions>"

    def __len__(self) -> int:
        return len(self._told)

    def put(self, at: GroupVersion, paths: Mapping[str, str], handler: PathHandler) -> bool:
        """Take in what a server tells; whether anything is new."""
        told = {path: RemoteDocument(url, handler) for path, url in paths.items()}
        if self._told.get(at) == told:
            return False
        self._told[at] = told
        self._sort()
        return True

    def remove(self, at: GroupVersion) -> bool:
        """Forget it; whether there was anything."""
        if self._told.pop(at, None) is None:
            return False
        self._sort()
        return True

    def _sort(self) -> None:
        self._own, self._others = {}, {}
        for at in sorted(self._told):
            own = path_of(at)
            for path, document in self._told[at].items():
                if path == own:
                    self._own[path] = document
                else:
                    self._others.setdefault(path, document)

    def find(self, path: str, *, local: bool) -> RemoteDocument | None:
        """A document that is elsewhere; `local`: there is one here."""
        return self._own.get(path) or (None if local else self._others.get(path))

    def __iter__(self) -> Iterator[str]:
        """The paths of all."""
        return iter({**self._others, **self._own})


def path_of(at: GroupVersion) -> str:
    """The path of a version's document."""
    return f"apis/{at}" if at.group else f"api/{at.version}"

"""`watchkeeper export`: what another server needs to come to the same objects."""

from __future__ import annotations

from dataclasses import dataclass

from watchkeeper.registry.export import export, is_exportable
from watchkeeper.server.transfer.interface import Object, Source, Unreadable, Unserved, counted, tell
from watchkeeper.server.transfer.manifests import write_manifests
from watchkeeper.server.transfer.order import group_kind

_SECRET = ("", "Secret")


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """What is wanted: one namespace, or "" for everything; where to; and whether secrets too."""

    namespace: str
    target: str = "-"
    include_secrets: bool = False

    async def run(self, source: Source) -> int:
        """Write manifests and tell on standard error what became of it. Returns the exit code. Raises TransferError."""
        manifests: list[Object] = []
        secrets = unreadable = 0
        async for found in source.objects(self.namespace):
            if isinstance(found, Unreadable):
                unreadable += 1
                tell(f"watchkeeper: cannot read {found.what}: {found.why}")
            elif isinstance(found, Unserved):
                keys = "key is" if found.count == 1 else "keys are"
                tell(f"watchkeeper: left out {found.place}: {found.count} {keys} of no kind that is served")
            elif not is_exportable(found):
                continue
            elif group_kind(found) == _SECRET and not self.include_secrets:
                secrets += 1
            else:
                manifests.append(export(found))
        count = write_manifests(manifests, self.target, private=self.include_secrets)
        left_out = f", without {counted(secrets, 'secret')} (--include-secrets)" if secrets else ""
        tell(f"{counted(count, 'object')} exported{left_out}")
        return 1 if unreadable else 0

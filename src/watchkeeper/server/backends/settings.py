"""What a server is told of how it talks to kubelets."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from watchkeeper.registry.kubelet import KubeletPlaces

SHOWN = "kubelet-client-certificate", "kubelet-client-key"
"""The options that name the files of what is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletSettings:
    """The options of kube-apiserver for that."""

    certificate: Path | None = None
    key: Path | None = None
    """What is shown to kubelets."""
    authority: Path | None = None
    """Who has signed their certificates; None believes any."""
    places: KubeletPlaces = field(default_factory=KubeletPlaces)

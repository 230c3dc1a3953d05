"""Warnings about volumes: kinds that no longer work, and files that hide each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from watchkeeper.apis.quantities import milli_value
from watchkeeper.meta.field import go_quote

Object = Mapping[str, Any]
Files = list[tuple[str, str]]
"""Paths, each with what it comes from; "" for the volume's only source."""

_DEPRECATED = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}

_FILES = frozenset(("projected", "configMap", "secret", "downwardAPI"))
"""Sources whose files can hide each other."""


def volume_warnings(volumes: Sequence[Object], path: str) -> list[str]:
    """Warnings about the volumes of a Pod at `path`."""
    found: list[str] = []
    for i, volume in enumerate(volumes):
        for source, value in volume.items():
            if source in _DEPRECATED:
                shown, text = _DEPRECATED[source]
                found.append(f"{path}[{i}].{shown}: {text}")
            elif source == "ephemeral":
                template = value.get("volumeClaimTemplate") or {}
                at = f"{path}[{i}].ephemeral.volumeClaimTemplate.spec"
                found += claim_spec_warnings(template.get("spec") or {}, at)
    for volume in volumes:
        if not _FILES.isdisjoint(volume):
            found += _overlap_warnings(volume)
    return found


def claim_spec_warnings(spec: Object, path: str) -> Iterator[str]:
    """Warnings about the spec of a claim: sizes that are no whole number of bytes."""
    resources = spec.get("resources") or {}
    for side in ("requests", "limits"):
        text = (resources.get(side) or {}).get("storage")
        if text is not None and milli_value(text) % 1000:
            at = f"{path}.resources.{side}[storage]"
            yield f"{at}: fractional byte value {go_quote(text)} is invalid, must be an integer"


def _overlap_warnings(volume: Object) -> Iterator[str]:
    name = volume.get("name") or ""
    for source, value in volume.items():
        if source == "projected":
            yield from _projected_overlaps(go_quote(name), value)
        elif source in ("configMap", "secret", "downwardAPI") and value.get("items"):
            shown = _source_text(source, value, "secretName")
            files: Files = [(item.get("path") or "", "") for item in value["items"]]
            for text in _overlaps(files):
                yield f"volume {go_quote(name)} ({shown}): overlapping paths: {text}"


def _projected_overlaps(name: str, value: Object) -> Iterator[str]:
    files: Files = []
    for projection in value.get("sources") or ():
        if not any(source is not None for source in projection.values()):
            yield f"volume {name} (Projected) has no sources provided"
        files += _projection_files(projection)
    for text in _overlaps(files):
        yield f"volume {name} (Projected): overlapping paths: {text}"


def _source_text(kind: str, value: Object, secret_field: str) -> str:
    if kind == "configMap":
        return f"ConfigMap {go_quote(value.get('name') or '')}"
    if kind == "secret":
        return f"Secret {go_quote(value.get(secret_field) or '')}"
    return "DownwardAPI"


def _projection_files(projection: Object) -> Files:
    for kind in ("configMap", "secret", "downwardAPI"):
        value = projection.get(kind)
        if value is not None and value.get("items"):
            source = _source_text(kind, value, "name")
            return [(item.get("path") or "", source) for item in value["items"]]
    token = projection.get("serviceAccountToken")
    if token is not None:
        return [(token.get("path") or "", "ServiceAccountToken")]
    bundle = projection.get("clusterTrustBundle")
    if bundle is not None:
        shown = bundle.get("name") if bundle.get("name") is not None else bundle.get("signerName")
        return [(bundle.get("path") or "", f"ClusterTrustBundle {go_quote(shown or '')}")]
    certificate = projection.get("podCertificate") or {}
    fields = (
        ("certificateChainPath", "PodCertificate chain"),
        ("keyPath", "PodCertificate key"),
        ("credentialBundlePath", "PodCertificate credential bundle"),
    )
    return [(certificate[field], source) for field, source in fields if certificate.get(field)]


_COMPARED = 500
"""So many files of a volume are compared, each with each; warnings about more would not fit into an answer."""


def _overlaps(files: Files) -> Iterator[str]:
    earlier: Files = []
    for raw, source in files[:_COMPARED]:
        path = raw.rstrip("/")
        for other, other_source in earlier:
            if path and other and (f"{other}/".startswith(f"{path}/") or f"{path}/".startswith(f"{other}/")):
                yield f"{_file_text(path, source)} with {_file_text(other, other_source)}"
        earlier.append((path, source))


def _file_text(path: str, source: str) -> str:
    return f"{go_quote(path)} ({source})" if source else go_quote(path)

"""Hashes of storage versions that kube-apiserver 1.36 shows."""

from __future__ import annotations

import pytest

from watchkeeper.endpoints.discovery_entries import storage_version_hash
from watchkeeper.meta.gvk import GroupVersionKind


@pytest.mark.parametrize(
    ("group", "kind", "shown"),
    [
        ("apiextensions.k8s.io", "CustomResourceDefinition", "jfWCUB31mvA="),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicy", "LYmCf+UMVdg="),
        ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding", "90V5FRZZ3Zg="),
    ],
)
def test_kinds_that_the_reference_stores_in_an_older_version(group: str, kind: str, shown: str) -> None:
    assert storage_version_hash(GroupVersionKind(group, "v1", kind)) == shown

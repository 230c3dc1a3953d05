"""Messages of old versions are kept as far as they differ, with the names that their fields have in JSON."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
from reduce_old_protobuf import OldMessages, differing_messages

PROTO = """package k8s.io.api.node.v1alpha1;

message RuntimeClass {
  optional .k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta metadata = 1;

  optional RuntimeClassSpec spec = 2;
}

message RuntimeClassSpec {
  optional string runtimeHandler = 1;

  optional Scheduling scheduling = 3;
}

message Scheduling {
  map<string, string> nodeSelector = 1;

  repeated .k8s.io.api.core.v1.Toleration tolerations = 2;
}
"""
TYPES = """
type RuntimeClass struct {
\tmetav1.TypeMeta `json:",inline"`
\tmetav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
\tSpec RuntimeClassSpec `json:"spec" protobuf:"bytes,2,name=spec"`
}

type RuntimeClassSpec struct {
\tRuntimeHandler string `json:"runtimeHandler" protobuf:"bytes,1,opt,name=runtimeHandler"`
\tScheduling *Scheduling `json:"scheduling,omitempty" protobuf:"bytes,3,opt,name=scheduling"`
}

type Scheduling struct {
\tNodeSelector map[string]string `json:"nodeSelector,omitempty" protobuf:"bytes,1,opt,name=nodeSelector"`
\tTolerations []corev1.Toleration `json:"tolerations,omitempty" patchStrategy:"x" protobuf:"bytes,2,rep"`
}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "node" / "v1alpha1"
    folder.mkdir(parents=True)
    (folder / "generated.proto").write_text(PROTO)
    (folder / "types.go").write_text(TYPES)
    return tmp_path


def test_what_is_as_at_v1_is_spoken_of_by_that_name(root: Path) -> None:
    found = differing_messages(
        OldMessages(root), "k8s.io.api.node.v1alpha1.RuntimeClass", "k8s.io.api.node.v1.RuntimeClass"
    )
    assert found == {
        "k8s.io.api.node.v1alpha1.RuntimeClass": {
            "1": ["metadata", "k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta", ""],
            "2": ["spec", "k8s.io.api.node.v1alpha1.RuntimeClassSpec", ""],
        },
        "k8s.io.api.node.v1alpha1.RuntimeClassSpec": {
            "1": ["runtimeHandler", "string", ""],
            "3": ["scheduling", "k8s.io.api.node.v1.Scheduling", ""],
        },
    }


def test_a_message_that_is_as_at_v1_is_left_out(root: Path) -> None:
    assert (
        differing_messages(OldMessages(root), "k8s.io.api.node.v1alpha1.Scheduling", "k8s.io.api.node.v1.Scheduling")
        == {}
    )

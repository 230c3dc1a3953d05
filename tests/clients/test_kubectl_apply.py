"""kubectl apply, diff, replace and what manages whole sets of objects."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kubectl_runner import Kubectl

pytestmark = pytest.mark.kubectl

SHOP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {part: shop}}
data: {level: info}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {part: shop}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: web, image: "web:1", ports: [{containerPort: 80}]}]
"""
CHANGED = SHOP.replace("web:1", "web:2").replace("info", "debug")
MISSPELLED = SHOP.replace("containerPort: 80}]}", "containerPort: 80}], imag: x}").replace(
    "spec:\n  sel", "spec:\n  paus: 1\n  sel"
)
CONFLICT = """Please review the fields above--they currently have other managers. Here
are the ways you can resolve this warning:
* If you intend to manage all of these fields, please re-run the apply
  command with the `--force-conflicts` flag.
* If you do not intend to manage all of the fields, please edit your
  manifest to remove references to the fields that should keep their
  current managers.
* You may co-own fields by updating your manifest to match the existing
  value; in this case, you'll become the manager if the other manager(s)
  stop managing the field (remove it from their configuration).
See https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts
"""


def done(what: str, mark: str = "") -> str:
    return f"configmap/settings {what}{mark}\ndeployment.apps/web {what}{mark}\n"


def image(kubectl: Kubectl) -> str:
    return kubectl("get deploy web -o jsonpath='{.spec.template.spec.containers[0].image}'")


def changed_lines(diff: str) -> list[str]:
    return [line for line in diff.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]


def test_manifests_are_applied_again_and_again(kubectl: Kubectl) -> None:
    assert kubectl("apply -f -", SHOP) == done("created")
    assert kubectl("apply -f -", SHOP) == done("unchanged")
    assert kubectl("apply -f - --dry-run=server", CHANGED) == done("configured", " (server dry run)")
    assert kubectl("apply -f - --dry-run=client", CHANGED) == done("configured", " (dry run)")
    assert image(kubectl) == "web:1"
    kubectl("scale deploy web --replicas=4")
    assert kubectl("apply -f -", CHANGED) == done("configured")
    assert (image(kubectl), kubectl("get deploy web -o jsonpath='{.spec.replicas}'")) == ("web:2", "4")
    without = CHANGED.replace("data: {level: debug}", "data: {}")
    assert kubectl("apply -f -", without) == "configmap/settings configured\ndeployment.apps/web unchanged\n"
    assert "data" not in json.loads(kubectl("get cm settings -o json"))
    assert json.loads(kubectl("apply view-last-applied cm settings -o json"))["data"] == {}
    kubectl("create configmap plain --from-literal=a=b")
    taken_over = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: plain}\ndata: {a: c}\n"
    printed, warned = kubectl.warns("apply -f -", taken_over)
    assert printed == "configmap/plain configured\n"
    assert warned.startswith("Warning: resource configmaps/plain is missing the kubectl.kubernetes.io/last-applied")


def test_a_difference_is_shown_before_it_is_made(kubectl: Kubectl) -> None:
    kubectl("apply -f -", SHOP)
    assert kubectl("diff -f -", SHOP) == ""
    shown = kubectl.run("diff -f -", CHANGED)
    assert (shown.returncode, shown.stderr) == (1, "")
    assert sorted(changed_lines(shown.stdout)) == sorted(
        change + what
        for change, what in (
            ("-", "  generation: 1"),
            ("+", "  generation: 2"),
            ("-", "      - image: web:1"),
            ("+", "      - image: web:2"),
            ("-", "  level: info"),
            ("+", "  level: debug"),
        )
    )
    on_server = kubectl.run("diff -f - --server-side --force-conflicts", CHANGED)
    assert (on_server.returncode, on_server.stderr) == (1, "")
    assert "+      - image: web:2" in changed_lines(on_server.stdout)
    assert image(kubectl) == "web:1"


def test_appliers_on_the_server_own_what_they_apply(kubectl: Kubectl) -> None:
    applied = "serverside-applied"
    assert kubectl("apply --server-side -f -", SHOP) == done(applied)
    assert kubectl("apply --server-side -f - --field-manager=other", SHOP) == done(applied)
    assert kubectl("apply --server-side -f - --field-manager=third --dry-run=server", SHOP) == done(
        applied, " (server dry run)"
    )
    complaint = kubectl.fails("apply --server-side -f - --field-manager=third", CHANGED)
    where = '.spec.template.spec.containers[name="web"].image'
    several = 'Apply failed with 2 conflicts: conflicts with "{}":\n- {}\nconflicts with "{}":\n- {}\n'
    assert complaint == "".join(
        several.format("kubectl", field, "other", field) + CONFLICT for field in (".data.level", where)
    )
    assert kubectl("apply --server-side -f - --field-manager=third --force-conflicts", CHANGED) == done(applied)
    assert image(kubectl) == "web:2"
    managers = kubectl("get deploy web --show-managed-fields -o jsonpath='{.metadata.managedFields[*].manager}'")
    assert sorted(managers.split()) == ["kubectl", "other", "third"]
    refused = kubectl.fails("apply --server-side -f -", MISSPELLED)
    assert "failed to create typed patch object" in refused
    assert ".spec.paus: field not declared in schema" in refused


def test_unknown_fields_are_refused_warned_about_or_ignored(kubectl: Kubectl) -> None:
    fields = ["spec.paus", "spec.template.spec.containers[0].imag"]
    strict = kubectl.fails("apply -f -", MISSPELLED)
    listed = ", ".join(f'unknown field "{field}"' for field in fields)
    assert strict == (
        'Error from server (BadRequest): error when creating "STDIN": Deployment in version "v1" cannot be handled as a'
        f" Deployment: strict decoding error: {listed}\n"
    )
    assert kubectl.fails("create -f - --validate=strict --dry-run=server", MISSPELLED).endswith(strict)
    warned = "".join(f'Warning: unknown field "{field}"\n' for field in fields)
    assert kubectl.warns("replace -f - --validate=warn --force", MISSPELLED)[1] == warned
    kubectl("delete deploy web")
    assert kubectl("create -f - --validate=ignore --dry-run=server", MISSPELLED.partition("---")[2]) == (
        "deployment.apps/web created (server dry run)\n"
    )


def test_objects_are_replaced(kubectl: Kubectl) -> None:
    missing = kubectl.fails("replace -f -", SHOP)
    assert missing.startswith(
        'Error from server (NotFound): error when replacing "STDIN": configmaps "settings" not found'
    )
    kubectl("create -f -", SHOP)
    assert kubectl.fails("create -f -", SHOP).count("Error from server (AlreadyExists)") == 2
    assert kubectl("replace -f -", CHANGED) == done("replaced")
    uid = kubectl("get deploy web -o jsonpath='{.metadata.uid}'")
    forced = kubectl("replace --force -f -", SHOP)
    assert forced.endswith(done("replaced"))
    assert forced.count(f"deleted from {kubectl.namespace} namespace") == 2
    assert kubectl("get deploy web -o jsonpath='{.metadata.uid}'") != uid


def test_what_is_left_out_of_a_set_is_pruned(kubectl: Kubectl) -> None:
    kubectl("apply -f -", SHOP)
    rest = SHOP.partition("---")[0]
    pruned = kubectl(
        "apply -f - --prune -l part=shop --prune-allowlist=apps/v1/Deployment --prune-allowlist=core/v1/ConfigMap", rest
    )
    assert pruned == "configmap/settings unchanged\ndeployment.apps/web pruned\n"
    kubectl("apply -f -", SHOP)
    printed, warned = kubectl.warns("apply -f - --prune -l part=shop", rest)
    assert printed == "configmap/settings unchanged\ndeployment.apps/web pruned\n"
    assert "Warning: v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice\n" in warned


def test_an_apply_set_prunes_its_own(kubectl: Kubectl) -> None:
    flags = f"--prune --applyset=set1 -n {kubectl.namespace}"
    on = {"KUBECTL_APPLYSET": "true"}
    assert kubectl(f"apply -f - {flags}", SHOP, **on) == done("created")
    rest = SHOP.partition("---")[0]
    assert kubectl(f"apply -f - {flags}", rest, **on) == "configmap/settings unchanged\ndeployment.apps/web pruned\n"
    kinds = json.loads(kubectl("get secret set1 -o json"))["metadata"]["annotations"]
    assert kinds["applyset.kubernetes.io/contains-group-kinds"] == "ConfigMap"


def test_kustomizations_are_built_and_applied(kubectl: Kubectl, tmp_path: Path) -> None:
    (tmp_path / "cm.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: b}\n")
    (tmp_path / "kustomization.yaml").write_text(
        "resources: [cm.yaml]\nnamePrefix: kz-\nconfigMapGenerator: [{name: gen, literals: [a=b]}]\n"
    )
    assert kubectl(f"kustomize {tmp_path}").count("kind: ConfigMap") == 2
    created = kubectl(f"apply -k {tmp_path}").splitlines()
    assert [line.rpartition(" ")[2] for line in created] == ["created", "created"]
    assert created[1] == "configmap/kz-one created"
    assert kubectl(f"diff -k {tmp_path}") == ""
    assert kubectl(f"delete -k {tmp_path}").count("deleted") == 2


def test_a_list_in_one_document_is_checked_and_applied(kubectl: Kubectl) -> None:
    def config_map(name: str, **more: Any) -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **more}

    listed = {"apiVersion": "v1", "kind": "List", "items": [config_map("a"), config_map("b", data={"x": "y"})]}
    assert kubectl("apply -f -", json.dumps(listed)) == "configmap/a created\nconfigmap/b created\n"
    assert kubectl("apply -f -", json.dumps(listed)) == "configmap/a unchanged\nconfigmap/b unchanged\n"

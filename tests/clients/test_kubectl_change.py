"""kubectl changes objects: edit, patch, label, annotate, set, scale, autoscale, rollout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kubectl_runner import KUBECTL, Kubectl

pytestmark = pytest.mark.kubectl


@pytest.fixture
def web(kubectl: Kubectl) -> Kubectl:
    """kubectl where there is a Deployment and a ConfigMap, both named web."""
    kubectl("create deployment web --image=web:1")
    kubectl("create configmap web --from-literal=a=1")
    return kubectl


def got(kubectl: Kubectl, what: str) -> Any:
    return json.loads(kubectl(f"get {what} -o json"))


def editor(folder: Path, *lines: str) -> str:
    """An editor that keeps what it was given first and then runs lines of shell on the file $1."""
    script = folder / "editor.sh"
    script.write_text("\n".join(["#!/bin/sh", f'cp "$1" "{folder}/opened.$(ls {folder} | wc -l)"', *lines, ""]))
    script.chmod(0o700)
    return str(script)


def opened(folder: Path) -> list[str]:
    """What the editor was given, time after time."""
    return [path.read_text() for path in sorted(folder.glob("opened.*"))]


def test_an_object_is_edited(web: Kubectl, tmp_path: Path) -> None:
    edit = editor(tmp_path, 'sed -i \'s/a: "1"/a: "2"/\' "$1"')
    assert web("edit cm web", EDITOR=edit) == "configmap/web edited\n"
    assert got(web, "cm web")["data"] == {"a": "2"}
    (text,) = opened(tmp_path)
    assert text.startswith("# Please edit the object below.")
    assert "managedFields" not in text
    assert web.warns("edit cm web", EDITOR=edit) == ("", "Edit cancelled, no changes made.\n")
    assert web.fails("edit cm nosuch", EDITOR=edit) == 'Error from server (NotFound): configmaps "nosuch" not found\n'


def test_an_edit_keeps_what_others_changed_meanwhile(web: Kubectl, tmp_path: Path) -> None:
    others = f"""{KUBECTL} patch cm web -p '{{"data":{{"b":"theirs"}}}}' > /dev/null"""
    edit = editor(tmp_path, others, 'sed -i \'s/a: "1"/a: ours/\' "$1"')
    assert "b: theirs" in web("edit cm web -o yaml", EDITOR=edit)
    assert got(web, "cm web")["data"] == {"a": "ours", "b": "theirs"}


def test_an_invalid_edit_is_opened_again_with_what_is_wrong(web: Kubectl, tmp_path: Path) -> None:
    once = f"[ $(ls {tmp_path} | wc -l) = 2 ] && sed -i 's/replicas: 1/replicas: -1/' \"$1\""
    complaint = web.fails("edit deploy web", EDITOR=editor(tmp_path, once, "exit 0"))
    assert 'deployments.apps "web" is invalid\n' in complaint
    assert complaint.endswith("error: Edit cancelled, no valid changes were saved.\n")
    first, second = opened(tmp_path)
    assert "replicas: 1" in first
    wrong = '# deployments.apps "web" was not valid:\n'
    assert wrong + "# * spec.replicas: Invalid value: -1: must be greater than or equal to 0\n#\n" in second


def test_the_status_is_edited_apart_from_the_rest(web: Kubectl, tmp_path: Path) -> None:
    edit = editor(tmp_path, "sed -i 's/status: {}/status: {replicas: 3}/; s/replicas: 1/replicas: 9/' \"$1\"")
    assert web("edit deploy web --subresource=status", EDITOR=edit) == "deployment.apps/web edited\n"
    found = got(web, "deploy web")
    assert (found["spec"]["replicas"], found["status"]) == (1, {"replicas": 3})


def test_every_type_of_patch_is_taken(web: Kubectl) -> None:
    assert web('patch cm web -p \'{"data":{"b":"2"}}\'') == "configmap/web patched\n"
    assert web('patch cm web --type=merge -p \'{"data":{"b":"2"}}\'') == "configmap/web patched (no change)\n"
    assert web('patch cm web --type=json -p \'[{"op":"remove","path":"/data/b"}]\'') == "configmap/web patched\n"
    assert got(web, "cm web")["data"] == {"a": "1"}
    spec = '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"side:1"}]}}}}'
    web(f"patch deploy web -p '{spec}'")
    assert web("get deploy web -o jsonpath='{.spec.template.spec.containers[*].name}'") == "side web"
    assert web(f"patch deploy web --type=merge -p '{spec}'") == "deployment.apps/web patched\n"
    assert web("get deploy web -o jsonpath='{.spec.template.spec.containers[*].name}'") == "side"
    shown = web('patch cm web -p \'{"data":{"c":"3"}}\' --dry-run=server -o jsonpath=\'{.data.c}\'')
    assert (shown, got(web, "cm web")["data"]) == ("3", {"a": "1"})


def test_patches_reach_subresources(web: Kubectl) -> None:
    patched = web('patch deploy web --subresource=scale --type=merge -p \'{"spec":{"replicas":4}}\'')
    assert patched == "scale.autoscaling/web patched\n"
    web('patch deploy web --subresource=status --type=merge -p \'{"status":{"replicas":2},"spec":{"replicas":7}}\'')
    found = got(web, "deploy web")
    assert (found["spec"]["replicas"], found["status"]) == (4, {"replicas": 2})


def test_patches_that_do_not_fit_are_refused(web: Kubectl) -> None:
    generic = "The request is invalid: the server rejected our request due to an error in our request\n"
    assert web.fails('patch cm web --type=json -p \'[{"op":"remove","path":"/data/z"}]\'') == generic
    refused = web.fails('patch deploy web -p \'{"spec":{"replicas":-2}}\'')
    assert refused == (
        'The Deployment "web" is invalid: spec.replicas: Invalid value: -2: must be greater than or equal to 0\n'
    )
    wrong_type = web.fails('patch deploy web -p \'{"spec":{"replicas":"x"}}\'')
    assert wrong_type == (
        'The request is invalid: patch: Invalid value: "map[spec:map[replicas:x]]": unrecognized type: int32\n'
    )
    unknown = web.warns('patch deploy web -p \'{"spec":{"nope":1}}\'')
    assert unknown == ("deployment.apps/web patched (no change)\n", 'Warning: unknown field "spec.nope"\n')


def test_labels_and_annotations_are_put_on_and_taken_off(web: Kubectl) -> None:
    assert web("label cm web a=b") == "configmap/web labeled\n"
    assert web.fails("label cm web a=c") == "error: 'a' already has a value (b), and --overwrite is false\n"
    assert web("label cm web a=c --overwrite") == "configmap/web labeled\n"
    assert web("label cm web --list") == "a=c\n"
    assert web("label cm web a-") == "configmap/web unlabeled\n"
    assert web("label deploy,cm --all tier=edge -o name") == "deployment.apps/web\nconfigmap/web\n"
    assert web("annotate cm -l tier=edge note='some text'") == "configmap/web annotated\n"
    assert web("annotate cm web --list") == "note=some text\n"
    stale = web.fails("annotate cm web note=x --overwrite --resource-version=1")
    assert stale.startswith('Error from server (Conflict): Operation cannot be fulfilled on configmaps "web"')
    assert web("annotate cm web note-") == "configmap/web annotated\n"
    assert "annotations" not in got(web, "cm web")["metadata"]


def test_parts_of_a_workload_are_set(web: Kubectl) -> None:
    assert web("set image deploy/web web=web:2") == "deployment.apps/web image updated\n"
    assert web("set env deploy/web A=b C=d") == "deployment.apps/web env updated\n"
    assert web("set env deploy/web --list") == "# Deployment web, container web\nA=b\nC=d\n"
    assert web("set env deploy/web A-") == "deployment.apps/web env updated\n"
    limits = "set resources deploy web --limits=cpu=200m,memory=512Mi --requests=cpu=100m"
    assert web(limits) == "deployment.apps/web resource requirements updated\n"
    web("create serviceaccount bot")
    assert web("set serviceaccount deploy web bot") == "deployment.apps/web serviceaccount updated\n"
    spec = got(web, "deploy web")["spec"]["template"]["spec"]
    container = spec["containers"][0]
    assert (spec["serviceAccountName"], container["image"], container["env"]) == (
        "bot", "web:2", [{"name": "C", "value": "d"}]
    )  # fmt: skip
    assert container["resources"] == {"limits": {"cpu": "200m", "memory": "512Mi"}, "requests": {"cpu": "100m"}}
    assert web.fails("set image deploy/web nosuch=web:2") == 'error: unable to find container named "nosuch"\n'
    web("create service clusterip web --tcp=80")
    assert web("set selector svc web a=b") == "service/web selector updated\n"
    assert got(web, "svc web")["spec"]["selector"] == {"a": "b"}
    web("create role r --verb=get --resource=pods")
    web("create rolebinding rb --role=r --user=x")
    assert web("set subject rolebinding rb --user=z") == "rolebinding.rbac.authorization.k8s.io/rb subjects updated\n"


def test_workloads_are_scaled(web: Kubectl) -> None:
    assert web("scale deploy web --replicas=5") == "deployment.apps/web scaled\n"
    assert web.fails("scale deploy web --replicas=1 --current-replicas=2") == (
        "error: Expected replicas to be 2, was 5\n"
    )
    assert web("scale deploy --all --replicas=2 --current-replicas=5") == "deployment.apps/web scaled\n"
    assert web.fails("scale cm web --replicas=1") == (
        "Error from server (NotFound): the server could not find the requested resource\n"
    )
    assert web("autoscale deploy web --min=1 --max=3 --cpu=50%") == (
        "horizontalpodautoscaler.autoscaling/web autoscaled\n"
    )
    assert got(web, "horizontalpodautoscalers.v1.autoscaling web")["spec"]["targetCPUUtilizationPercentage"] == 50
    assert got(web, "deploy web")["spec"]["replicas"] == 2


def test_rollouts_are_paused_resumed_restarted_and_undone(web: Kubectl) -> None:
    assert web("rollout pause deploy/web") == "deployment.apps/web paused\n"
    assert web.fails("rollout pause deploy/web") == 'error: deployments.apps "web" is already paused\n'
    assert web.fails("rollout restart deploy/web") == (
        'error: deployments.apps "web" can\'t restart paused deployment (run rollout resume first)\n'
    )
    assert web("rollout resume deploy/web") == "deployment.apps/web resumed\n"
    assert web("rollout restart deploy/web") == "deployment.apps/web restarted\n"
    stamp = "kubectl.kubernetes.io/restartedAt"
    assert stamp in got(web, "deploy web")["spec"]["template"]["metadata"]["annotations"]
    assert web("rollout history deploy/web") == "deployment.apps/web \nNo rollout history found.\n"
    assert web("rollout status deploy/web --watch=false") == "Waiting for deployment spec update to be observed...\n"
    assert web.fails("rollout undo deploy/web") == 'error: no rollout history found for deployment "web"\n'


def test_a_rollout_with_a_history_goes_back(web: Kubectl) -> None:
    deployment = got(web, "deploy web")
    for revision in ("1", "2"):
        template = json.loads(json.dumps(deployment["spec"]["template"]))
        template["metadata"]["labels"]["pod-template-hash"] = revision
        template["spec"]["containers"][0]["image"] = f"web:{revision}"
        labels = template["metadata"]["labels"]
        owner = {
            "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True,
            "uid": deployment["metadata"]["uid"],
        }  # fmt: skip
        annotations = {"deployment.kubernetes.io/revision": revision}
        meta = {"name": f"web-{revision}", "labels": labels, "annotations": annotations, "ownerReferences": [owner]}
        spec = {"selector": {"matchLabels": labels}, "template": template, "replicas": 0}
        body = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec}
        web("create -f -", json.dumps(body))
    web("set image deploy/web web=web:2")
    assert web("rollout history deploy/web").split() == [
        "deployment.apps/web", "REVISION", "CHANGE-CAUSE", "1", "<none>", "2", "<none>"
    ]  # fmt: skip
    assert "Image:\tweb:1" in web("rollout history deploy/web --revision=1")
    assert web("rollout undo deploy/web") == "deployment.apps/web rolled back\n"
    assert got(web, "deploy web")["spec"]["template"]["spec"]["containers"][0]["image"] == "web:1"
    status = (
        '{"status":{"observedGeneration":9,"replicas":1,"updatedReplicas":1,"readyReplicas":1,"availableReplicas":1}}'
    )
    web(f"patch deploy web --subresource=status --type=merge -p '{status}'")
    assert web("rollout status deploy/web --timeout=5s") == 'deployment "web" successfully rolled out\n'

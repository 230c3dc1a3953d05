"""kubectl deletes, and waits for what is to happen."""

from __future__ import annotations

import json

import pytest
from kubectl_runner import Kubectl

pytestmark = pytest.mark.kubectl

MAPS = "".join(
    f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{group: {group}}}}}\n---\n"
    for name, group in (("a", "x"), ("b", "x"), ("c", "z"), ("d", "z"))
)


def names(kubectl: Kubectl, what: str) -> list[str]:
    return kubectl(f"get {what} -o name").split()


def test_objects_are_deleted_by_file_name_label_and_all_together(kubectl: Kubectl) -> None:
    kubectl("create -f -", MAPS)
    gone = f'configmap "{{}}" deleted from {kubectl.namespace} namespace'
    assert kubectl("delete cm a --dry-run=server") == gone.format("a") + " (server dry run)\n"
    assert kubectl("delete cm a b") == gone.format("a") + "\n" + gone.format("b") + "\n"
    assert kubectl("delete cm -l group=x") == "No resources found\n"
    assert kubectl("delete cm -l group=z -o name") == "configmap/c\nconfigmap/d\n"
    kubectl("create -f -", MAPS)
    assert kubectl("delete cm --field-selector metadata.name=a") == gone.format("a") + "\n"
    assert kubectl("delete cm --all").count("deleted") == 3
    missing = kubectl.fails("delete -f -", MAPS)
    assert missing.count('Error from server (NotFound): error when deleting "STDIN"') == 4
    assert kubectl("delete -f - --ignore-not-found", MAPS) == ""
    kubectl("create deployment web --image=web:1")
    kubectl("create service clusterip web --tcp=80")
    assert kubectl("delete all --all").count("deleted") == 2
    assert names(kubectl, "all") == []


def owned(kubectl: Kubectl, name: str) -> None:
    """A Deployment and a ReplicaSet that it owns."""
    kubectl(f"create deployment {name} --image=web:1")
    found = json.loads(kubectl(f"get deploy {name} -o json"))
    template = found["spec"]["template"]
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "uid": found["metadata"]["uid"]}
    meta = {"name": name, "labels": {"app": name}, "ownerReferences": [{**owner, "blockOwnerDeletion": True}]}
    spec = {"selector": found["spec"]["selector"], "template": template}
    kubectl("create -f -", json.dumps({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": spec}))


def test_dependents_go_with_their_owner_or_stay(kubectl: Kubectl) -> None:
    for name in ("back", "fore", "orphan"):
        owned(kubectl, name)
    kubectl("delete deploy fore --cascade=foreground")
    assert names(kubectl, "rs fore --ignore-not-found") == []
    kubectl("delete deploy back")
    kubectl("wait --for=delete rs/back --timeout=10s")
    kubectl("delete deploy orphan --cascade=orphan")
    assert names(kubectl, "rs") == ["replicaset.apps/orphan"]
    assert "ownerReferences" not in json.loads(kubectl("get rs orphan -o json"))["metadata"]


def test_pods_are_deleted_with_and_without_grace(kubectl: Kubectl) -> None:
    for name in ("pending", "now", "force"):
        kubectl(f"run {name} --image=busybox")
    kubectl("""run bound --image=busybox --overrides='{"spec":{"nodeName":"nowhere"}}'""")
    gone = f"from {kubectl.namespace} namespace\n"
    assert kubectl("delete pod pending") == f'pod "pending" deleted {gone}'
    assert kubectl("delete pod now --now") == f'pod "now" deleted {gone}'
    printed, warned = kubectl.warns("delete pod force --grace-period=0 --force")
    assert printed == f'pod "force" force deleted {gone}'
    assert warned.startswith("Warning: Immediate deletion does not wait for confirmation that the running resource")
    # Nobody stops the container of a Pod that is on a node, so it stays until somebody says that it is stopped.
    assert kubectl("delete pod bound --wait=false") == f'pod "bound" deleted {gone}'
    assert kubectl("get pod bound -o jsonpath='{.metadata.deletionGracePeriodSeconds}'") == "30"
    assert kubectl("get pod bound --no-headers").split()[2] == "Terminating"
    waited = kubectl.fails("delete pod bound --timeout=2s")
    assert waited.endswith("error: timed out waiting for the condition on pods/bound\n")
    kubectl.warns("delete pod bound --grace-period=0 --force")
    assert names(kubectl, "pods") == []


def test_a_namespace_is_gone_when_its_deletion_returns(kubectl: Kubectl) -> None:
    name = f"{kubectl.namespace}-more"
    kubectl(f"create namespace {name}")
    kubectl(f"create configmap a -n {name}")
    assert kubectl(f"delete namespace {name}") == f'namespace "{name}" deleted\n'
    assert kubectl.fails(f"get cm a -n {name}") == f'Error from server (NotFound): namespaces "{name}" not found\n'


def test_waiting_ends_when_what_was_waited_for_happens(kubectl: Kubectl) -> None:
    kubectl("create configmap a --from-literal=state=new")
    kubectl("create deployment web --image=web:1")
    met = " condition met\n"
    assert kubectl("wait --for=create cm/a --timeout=5s") == f"configmap/a{met}"
    assert kubectl("wait --for=jsonpath='{.data.state}'=new cm/a --timeout=5s") == f"configmap/a{met}"
    assert kubectl("wait --for=delete cm/never-there --timeout=5s") == ""
    with (
        kubectl.running("wait --for=create cm/later --timeout=20s") as created,
        kubectl.running("wait --for=jsonpath='{.data.state}'=old cm/a --timeout=20s") as changed,
        kubectl.running("wait --for=condition=Available deploy/web --timeout=20s") as available,
        kubectl.running("wait --for=delete deploy,cm -l app=web --timeout=20s") as deleted,
    ):
        kubectl("create configmap later")
        kubectl('patch cm a -p \'{"data":{"state":"old"}}\'')
        condition = '{"status":{"conditions":[{"type":"Available","status":"True"}]}}'
        kubectl(f"patch deploy web --subresource=status --type=merge -p '{condition}'")
        assert created.communicate(timeout=20)[0] == f"configmap/later{met}"
        assert changed.communicate(timeout=20)[0] == f"configmap/a{met}"
        assert available.communicate(timeout=20)[0] == f"deployment.apps/web{met}"
        kubectl("delete deploy web")
        assert deleted.communicate(timeout=20)[0] in (f"deployment.apps/web{met}", "")
    assert kubectl.fails("wait --for=condition=Ready pod/none --timeout=1s") == (
        'Error from server (NotFound): pods "none" not found\n'
    )
    assert kubectl.fails("wait --for=jsonpath='{.data.state}'=x cm/a --timeout=1s").endswith(
        "error: timed out waiting for the condition on configmaps/a\n"
    )

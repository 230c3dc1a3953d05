"""kubectl and nodes: taints, draining, what needs a kubelet, and certificates."""

from __future__ import annotations

import base64
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from kubectl_runner import Kubectl

pytestmark = pytest.mark.kubectl


@pytest.fixture
def node(kubectl: Kubectl) -> Iterator[str]:
    """A Node that only this test knows."""
    name = f"node-{kubectl.namespace}"
    kubectl("create -f -", json.dumps({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}))
    yield name
    kubectl(f"delete node {name}")


def test_nodes_are_tainted_and_cordoned(kubectl: Kubectl, node: str) -> None:
    assert kubectl(f"taint node {node} a=b:NoSchedule") == f"node/{node} tainted\n"
    assert kubectl.fails(f"taint node {node} a=c:NoSchedule").endswith(
        "already has a taint(s) with same effect(s) and --overwrite is false\n"
    )
    assert kubectl(f"taint node {node} a=c:NoSchedule --overwrite") == f"node/{node} modified\n"
    assert kubectl(f"taint node {node} a:NoSchedule-") == f"node/{node} untainted\n"
    assert kubectl.fails(f"taint node {node} a-") == 'error: taint "a" not found\n'
    assert kubectl(f"cordon {node}") == f"node/{node} cordoned\n"
    assert kubectl(f"cordon {node}") == f"node/{node} already cordoned\n"
    assert kubectl(f"get node {node} --no-headers").split()[1] == "Unknown,SchedulingDisabled"
    assert kubectl(f"uncordon {node}") == f"node/{node} uncordoned\n"


def pods_of_several_owners(kubectl: Kubectl, node: str) -> None:
    """Two ready Pods of a ReplicaSet, one of a DaemonSet, a bare one, and one with local storage."""
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "x:1"}]}}
    common = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    made = [
        json.loads(kubectl("create -o json -f -", json.dumps({
            "apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "web"}, "spec": common
        })))
        for kind in ("ReplicaSet", "DaemonSet")
    ]  # fmt: skip
    owners = [
        {"apiVersion": "apps/v1", "kind": o["kind"], "name": "web", "uid": o["metadata"]["uid"], "controller": True}
        for o in made
    ]
    replica, daemon = [owners[0]], [owners[1]]
    pods = [
        pod("web-1", node, replica),
        pod("web-2", node, replica),
        pod("daemon", node, daemon),
        pod("bare", node, [], app="bare"),
        pod("local", node, replica, app="local", volumes=[{"name": "v", "emptyDir": {}}]),
    ]
    kubectl("create -f -", json.dumps({"apiVersion": "v1", "kind": "List", "items": pods}))


def pod(name: str, node: str, owners: list[Any], *, app: str = "web", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": app}, "ownerReferences": owners},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "x:1"}], **spec},
    }


def test_a_node_is_drained_of_pods_of_several_owners(kubectl: Kubectl, node: str) -> None:
    pods_of_several_owners(kubectl, node)
    complaint = kubectl.fails(f"drain {node}")
    for problem in (
        "cannot delete Pods that declare no controller (use --force to override): {}/bare",
        "cannot delete DaemonSet-managed Pods (use --ignore-daemonsets to ignore): {}/daemon",
        "cannot delete Pods with local storage (use --delete-emptydir-data to override): {}/local",
    ):
        assert f"\n{problem.format(kubectl.namespace)}\n" in complaint
    everything = f"drain {node} --ignore-daemonsets --force --delete-emptydir-data --grace-period=0"
    shown, warned = kubectl.warns(f"{everything} --dry-run=server")
    assert shown.count("evicting pod") == 4
    assert "ignoring DaemonSet-managed Pods" in warned
    kubectl("create pdb web --selector=app=web --min-available=2")
    running = '{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}'
    for name in ("web-1", "web-2"):
        kubectl(f"patch pod {name} --subresource=status -p '{running}'")
    budget = '{"status":{"observedGeneration":1,"currentHealthy":2,"desiredHealthy":2,"expectedPods":2}}'
    kubectl(f"patch pdb web --subresource=status --type=merge -p '{budget}'")
    stopped = kubectl.fails(f"{everything} --timeout=4s")
    violated = (
        f'error when evicting pods/"web-1" -n "{kubectl.namespace}" (will retry after 5s): Cannot evict pod as it would'
        " violate the pod's disruption budget.\n"
    )
    assert violated in stopped
    assert sorted(kubectl("get pods -o name").split()) == ["pod/daemon", "pod/web-1", "pod/web-2"]
    allowed = budget.replace("}}", ',"disruptionsAllowed":2}}')
    kubectl(f"patch pdb web --subresource=status --type=merge -p '{allowed}'")
    drained, _ = kubectl.warns(f"{everything} --timeout=20s")
    assert drained.endswith(f"node/{node} drained\n")
    assert kubectl("get pods -o name") == "pod/daemon\n"
    kubectl.warns(f"drain {node} --force --disable-eviction --ignore-daemonsets")
    kubectl.warns("delete pods --all --force --grace-period=0")


def test_what_needs_a_kubelet_says_that_there_is_none(kubectl: Kubectl, node: str) -> None:
    kubectl("create -f -", json.dumps(pod("web", node, [])))
    nowhere = "no preferred addresses found; known addresses: []"
    assert kubectl.fails("logs web") == f"Error from server: {nowhere}\n"
    assert kubectl.fails("exec web -- ls") == f"error: unable to upgrade connection: {nowhere}\n"
    assert kubectl.fails("attach web").endswith(f"error: unable to upgrade connection: {nowhere}\n")
    assert kubectl.fails("cp web:/etc/hosts /dev/null") == f"error: unable to upgrade connection: {nowhere}\n"
    assert kubectl.fails("port-forward web 0:80") == (
        "error: unable to forward port because pod is not running. Current status=Pending\n"
    )
    missing = 'Error from server (NotFound): pods "nosuch" not found\n'
    assert kubectl.fails("exec nosuch -- ls") == missing
    assert kubectl.fails("port-forward nosuch 0:80") == missing
    assert kubectl.fails("logs nosuch") == (
        f'error: error from server (NotFound): pods "nosuch" not found in namespace "{kubectl.namespace}"\n'
    )
    kubectl("run unbound --image=x")
    assert kubectl("logs unbound") == ""
    kubectl("debug web --image=busybox:1 -c dbg --attach=false --profile=general -q")
    assert kubectl("get pod web -o jsonpath='{.spec.ephemeralContainers[*].name}'") == "dbg"
    debugging = kubectl(f"debug node/{node} --image=busybox:1 --attach=false")
    assert debugging.startswith(f"Creating debugging pod node-debugger-{node}"[:60])
    kubectl.warns("delete pods --all --force --grace-period=0")


def test_a_kubelet_that_is_not_there_is_named(kubectl: Kubectl, node: str) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    place = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}]}
    status = {**place, "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}
    kubectl(f"patch node {node} --subresource=status --type=merge -p '{json.dumps({'status': status})}'")
    kubectl("create -f -", json.dumps(pod("web", node, [])))
    refused = f"dial tcp 127.0.0.1:{port}: connect: connection refused"
    there = f"https://127.0.0.1:{port}"
    path = f"{kubectl.namespace}/web/c"
    assert kubectl.fails("logs web --tail=5") == (
        f'Error from server: Get "{there}/containerLogs/{path}?tailLines=5": {refused}\n'
    )
    sent = f'error: Internal error occurred: error sending request: Post "{there}/'
    assert (
        kubectl.fails("exec web -- ls -l") == f'{sent}exec/{path}?command=ls&command=-l&error=1&output=1": {refused}\n'
    )
    assert kubectl.fails("attach web").endswith(f'{sent}attach/{path}?error=1&output=1": {refused}\n')
    dialed = f"error: unable to upgrade connection: error dialing backend: {refused}\n"
    assert kubectl.fails("exec web -- ls", KUBECTL_REMOTE_COMMAND_WEBSOCKETS="false") == dialed
    assert kubectl.fails(f"get --raw /api/v1/nodes/{node}/proxy/healthz") == (
        "Error from server (BadRequest): address not allowed\n"
    )
    kubectl.warns("delete pods --all --force --grace-period=0")


def signing_request(name: str) -> str:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "jane")])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject).sign(key, hashes.SHA256())
    spec = {
        "request": base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode(),
        "signerName": "kubernetes.io/kube-apiserver-client",
        "usages": ["client auth"],
    }
    kind = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest"}
    return json.dumps({**kind, "metadata": {"name": name}, "spec": spec})


def test_certificates_are_approved_and_denied(kubectl: Kubectl) -> None:
    yes, no = f"yes-{kubectl.namespace}", f"no-{kubectl.namespace}"
    kubectl("create -f -", signing_request(yes))
    kubectl("create -f -", signing_request(no))
    assert kubectl(f"get csr {yes} --no-headers").split()[-1] == "Pending"
    assert kubectl(f"certificate approve {yes}") == f"certificatesigningrequest.certificates.k8s.io/{yes} approved\n"
    assert kubectl(f"certificate deny {no}") == f"certificatesigningrequest.certificates.k8s.io/{no} denied\n"
    assert kubectl.fails(f"certificate approve {no}") == (
        f'error: certificate signing request "{no}" is already Denied\n'
    )
    assert kubectl(f"get csr {yes} {no} -o jsonpath='{{.items[*].status.conditions[0].type}}'") == "Approved Denied"
    described = kubectl(f"describe csr {yes}")
    assert "Common Name:    jane" in described
    assert "Status:             Approved" in described
    assert kubectl(f"delete csr {yes} {no}").count("deleted") == 2
    assert kubectl.fails("certificate approve nosuch") == (
        'Error from server (NotFound): certificatesigningrequests.certificates.k8s.io "nosuch" not found\n'
    )

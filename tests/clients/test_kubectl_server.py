"""What kubectl says about the server, about who asks, and what it passes on."""

from __future__ import annotations

import json
import re
import urllib.request

import pytest
from kubectl_runner import Kubectl, rows

pytestmark = pytest.mark.kubectl


def test_the_resources_are_listed_in_every_way(kubectl: Kubectl) -> None:
    apps = kubectl("api-resources --api-group=apps --no-headers")
    assert [line.split() for line in apps.splitlines()] == [
        ["controllerrevisions", "apps/v1", "true", "ControllerRevision"],
        ["daemonsets", "ds", "apps/v1", "true", "DaemonSet"],
        ["deployments", "deploy", "apps/v1", "true", "Deployment"],
        ["replicasets", "rs", "apps/v1", "true", "ReplicaSet"],
        ["statefulsets", "sts", "apps/v1", "true", "StatefulSet"],
    ]
    wide = kubectl("api-resources --api-group=policy -o wide --no-headers").split()
    assert wide[-1] == "create,delete,deletecollection,get,list,patch,update,watch"
    names = kubectl("api-resources --namespaced=false --verbs=list,create -o name").splitlines()
    assert {"namespaces", "nodes", "priorityclasses.scheduling.k8s.io"} <= set(names)
    assert not {"pods", "tokenreviews.authentication.k8s.io"} & set(names)
    everything = kubectl("api-resources --categories=all -o name --sort-by=name").split()
    assert everything == sorted(everything)
    assert {"pods", "services", "deployments.apps", "cronjobs.batch"} <= set(everything)
    found = json.loads(kubectl("api-resources -o json --api-group=policy"))
    assert [resource["name"] for resource in found["resources"]] == ["poddisruptionbudgets"]
    versions = kubectl("api-versions").splitlines()
    assert versions == sorted(versions)
    assert {"v1", "apps/v1", "autoscaling/v1", "autoscaling/v2"} <= set(versions)


def test_the_server_is_where_the_kubeconfig_says(kubectl: Kubectl) -> None:
    url = kubectl("config view --minify -o jsonpath='{.clusters[0].cluster.server}'")
    assert kubectl("cluster-info") == (
        f"Kubernetes control plane is running at {url}\n\n"
        "To further debug and diagnose cluster problems, use 'kubectl cluster-info dump'.\n"
    )
    assert "token: REDACTED" in kubectl("config view")
    assert kubectl("config current-context") == "watchkeeper\n"
    told = json.loads(kubectl("version -o json"))["serverVersion"]
    assert (told["major"], told["minor"]) == ("1", "36")
    assert told["gitVersion"].startswith("v1.36.")
    kubectl("run box --image=busybox:1")
    kubectl(f"cluster-info dump --namespaces={kubectl.namespace} --output-directory={kubectl.home}/dump")
    dumped = json.loads((kubectl.home / "dump" / kubectl.namespace / "pods.json").read_text())
    assert [pod["metadata"]["name"] for pod in dumped["items"]] == ["box"]


def test_paths_are_got_and_objects_sent_raw(kubectl: Kubectl) -> None:
    assert kubectl("get --raw /readyz") == "ok"
    assert kubectl("get --raw '/readyz?verbose'").endswith("readyz check passed\n")
    assert json.loads(kubectl("get --raw /apis/apps/v1"))["groupVersion"] == "apps/v1"
    where = f"/api/v1/namespaces/{kubectl.namespace}/configmaps"
    body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "raw"}, "data": {"a": "b"}})
    assert json.loads(kubectl(f"create --raw {where} -f -", body))["data"] == {"a": "b"}
    assert json.loads(kubectl(f"replace --raw {where}/raw -f -", body.replace('"b"', '"c"')))["data"] == {"a": "c"}
    assert json.loads(kubectl(f"delete --raw {where}/raw"))["status"] == "Success"


def test_a_proxy_passes_requests_and_watches_on(kubectl: Kubectl) -> None:
    kubectl("create configmap one --from-literal=a=b")
    with kubectl.running("proxy --port=0") as proxy:
        assert proxy.stdout is not None
        port = re.fullmatch(r"Starting to serve on 127.0.0.1:(\d+)\n", proxy.stdout.readline())
        assert port is not None
        url = f"http://127.0.0.1:{port[1]}/api/v1/namespaces/{kubectl.namespace}/configmaps"
        with urllib.request.urlopen(url, timeout=10) as answer:
            assert [item["metadata"]["name"] for item in json.load(answer)["items"]] == ["one"]
        with urllib.request.urlopen(f"{url}?watch=1&timeoutSeconds=1", timeout=10) as events:
            event = json.loads(events.readline())
            assert (event["type"], event["object"]["data"]) == ("ADDED", {"a": "b"})
            assert events.read() == b""


def test_who_asks_and_what_they_may(kubectl: Kubectl) -> None:
    assert rows(kubectl("auth whoami"))[1:] == [["Username"], ["Groups"]]
    review = json.loads(kubectl("auth whoami -o json --as=jane --as-group=devs"))
    assert review["status"]["userInfo"] == {"username": "jane", "groups": ["devs", "system:authenticated"]}
    assert kubectl("auth can-i create pods") == "yes\n"
    assert kubectl("auth can-i get /logs") == "yes\n"
    assert kubectl.run("auth can-i create pods --as=jane").stdout == "no\n"
    kubectl("create role reader --verb=get,list --resource=pods,configmaps")
    kubectl("create rolebinding jane-reads --role=reader --user=jane")
    assert kubectl("auth can-i list pods --as=jane") == "yes\n"
    allowed = kubectl("auth can-i --list --as=jane --no-headers").splitlines()
    assert ["pods", "[]", "[]", "[get", "list]"] in [line.split() for line in allowed]
    assert kubectl.warns("auth can-i create nosuch") == (
        "yes\n", "Warning: the server doesn't have a resource type 'nosuch'\n\n"
    )  # fmt: skip
    refused = kubectl.fails("delete pod x --as=jane")
    assert refused == (
        'Error from server (Forbidden): pods "x" is forbidden: User "jane" cannot delete resource "pods"'
        f' in API group "" in the namespace "{kubectl.namespace}"\n'
    )


def test_roles_are_reconciled(kubectl: Kubectl) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "r", "namespace": kubectl.namespace},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }
    assert kubectl.warns("auth reconcile -f -", json.dumps(role))[0].endswith("/r reconciled\n")
    role["rules"] = [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    missing = kubectl.warns("auth reconcile -f -", json.dumps(role))[1]
    assert "missing rules added:\n\t\t{Verbs:[get] APIGroups:[] Resources:[secrets]" in missing
    assert kubectl("auth reconcile -f -", json.dumps(role)).endswith("/r reconciled\n")
    shown = kubectl("get role r -o jsonpath='{.rules[*].resources[0]}'")
    assert sorted(shown.split()) == ["pods", "secrets"]


def test_what_takes_more_than_this_server_is_said_so(kubectl: Kubectl) -> None:
    assert kubectl.fails("top nodes") == "error: Metrics API not available\n"
    assert kubectl.fails("top pods") == "error: Metrics API not available\n"
    assert kubectl.warns("events") == ("", f"No events found in {kubectl.namespace} namespace.\n")


def test_events_are_listed_for_their_object(kubectl: Kubectl) -> None:
    kubectl("run box --image=busybox:1")
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "box.1"},
        "involvedObject": {"kind": "Pod", "name": "box", "namespace": kubectl.namespace, "apiVersion": "v1"},
        "reason": "Noted",
        "message": "for the record",
        "type": "Warning",
        "firstTimestamp": "2026-01-01T00:00:00Z",
        "lastTimestamp": "2026-01-01T00:00:00Z",
        "count": 2,
    }
    kubectl("create -f -", json.dumps(event))
    assert [row[1:] for row in rows(kubectl("events --for pod/box --no-headers"))] == [["Warning", "Noted", "Pod/box"]]
    assert [row[1:] for row in rows(kubectl("get events --no-headers"))] == [["Warning", "Noted", "pod/box"]]
    assert "for the record" in kubectl("events --types=Warning")

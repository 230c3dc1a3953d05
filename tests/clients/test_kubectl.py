"""The real kubectl, a real server, and manifests as people deploy them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SHOP = Path(__file__).parent / "webshop.yaml"
KUBECTL = str(Path(sys.executable).parent / "kubectl")

pytestmark = [
    pytest.mark.kubectl,
    pytest.mark.skipif(not Path(KUBECTL).exists(), reason="kubectl is not installed beside Python"),
]


class Kubectl:
    """Runs kubectl against one server, and holds that it neither fails nor complains."""

    def __init__(self, kubeconfig: Path, cache: Path) -> None:
        self._env = {**os.environ, "KUBECONFIG": str(kubeconfig), "KUBECACHEDIR": str(cache), "HOME": str(cache)}

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([KUBECTL, *args], env=self._env, capture_output=True, text=True, timeout=60, check=False)

    def __call__(self, *args: str) -> str:
        done = self.run(*args)
        assert (done.returncode, done.stderr) == (0, ""), f"kubectl {' '.join(args)}: {done.stderr or done.stdout}"
        return done.stdout

    def fails(self, *args: str) -> str:
        done = self.run(*args)
        assert done.returncode != 0, done.stdout
        return done.stderr


@pytest.fixture
def kubectl(watchkeeper_kubeconfig: Path, tmp_path: Path) -> Kubectl:
    return Kubectl(watchkeeper_kubeconfig, tmp_path)


@pytest.fixture(scope="module")
def shop(watchkeeper_kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    kubectl = Kubectl(watchkeeper_kubeconfig, tmp_path_factory.mktemp("shop"))
    created = kubectl("apply", "-f", str(SHOP))
    assert {line.rpartition(" ")[2] for line in created.splitlines()} == {"created"}
    yield kubectl
    # No controller runs that would take the protection of claims away.
    kubectl("-n", "shop", "patch", "pvc", "uploads", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    kubectl("delete", "namespace/shop", "priorityclass/shop-critical")


def test_a_web_shop_applied_again_does_not_differ(shop: Kubectl) -> None:
    assert shop("diff", "-f", str(SHOP)) == ""
    again = {line.rpartition(" ")[2] for line in shop("apply", "-f", str(SHOP)).splitlines()}
    assert "created" not in again


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (["get", "deploy"], "storefront   0/3"),
        (["get", "svc", "payment"], "NodePort"),
        (["get", "svc", "-o", "wide"], "SELECTOR"),
        (["get", "ing"], "shop.example.com"),
        (["get", "hpa"], "cpu: <unknown>/70%"),
        (["get", "pdb"], "50%"),
        (["get", "cj"], "*/15 * * * *"),
        (["get", "pvc"], "Pending"),
        (["get", "netpol", "database"], "app.kubernetes.io/name=database"),
        (["get", "deploy", "--show-labels", "-l", "tier=edge"], "tier=edge"),
        (["get", "deploy", "-A", "--field-selector", "metadata.name=catalog", "-o", "name"], "deployment.apps/catalog"),
        (["get", "cm", "shop-settings", "-o", "jsonpath={.data.LOG_LEVEL}"], "info"),
        (["get", "svc", "--sort-by=.metadata.name", "-o", "custom-columns=N:.metadata.name"], "catalog"),
        (["get", "secret", "database", "-o", "yaml"], "password: bm90LWEtcmVhbC1vbmU="),
        (["describe", "deploy", "storefront"], "25% max unavailable, 1 max surge"),
        (["describe", "svc", "storefront"], "TargetPort:               http/TCP"),
        (["describe", "ingress", "shop"], "/api/catalog   catalog:8080"),
        (["explain", "deployment.spec.strategy"], "rollingUpdate"),
        (["auth", "can-i", "create", "pods"], "yes"),
        (["auth", "whoami"], "system:masters"),
        (["rollout", "history", "deploy/storefront"], "No rollout history found."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_web_shop_is_shown(shop: Kubectl, args: list[str], shown: str) -> None:
    assert shown in shop("-n", "shop", *args)


def test_every_generator_creates(kubectl: Kubectl, watchkeeper_namespace: str) -> None:
    here = ["-n", watchkeeper_namespace]
    for line in (
        "deployment d --image=nginx",
        "job j --image=busybox",
        "configmap c --from-literal=a=b",
        "secret generic s --from-literal=a=b",
        "secret docker-registry registry --docker-username=a --docker-password=b --docker-server=x",
        "serviceaccount sa",
        "role r --verb=get --resource=pods",
        "rolebinding rb --role=r --serviceaccount=x:sa",
        "ingress i --rule=a.example.com/x=svc:80",
        "poddisruptionbudget p --selector=a=b --min-available=1",
        "quota q --hard=pods=1",
        "service clusterip one --tcp=80:80",
        "service nodeport two --tcp=80:80",
        "service loadbalancer three --tcp=80:80",
        "service externalname four --external-name=a.example.com",
    ):
        assert kubectl("create", *line.split(), *here).endswith(" created\n")
    kubectl("create", "cronjob", "cj", "--image=busybox", "--schedule=* * * * *", *here)
    kubectl("create", "job", "now", "--from=cronjob/cj", *here)
    assert kubectl("create", "token", "sa", *here).count(".") == 2
    data = json.loads(kubectl("get", "configmap", "c", "-o", "json", *here))["data"]
    assert data == {"a": "b"}


def test_a_deployment_is_changed_in_every_way(kubectl: Kubectl, watchkeeper_namespace: str) -> None:
    here = ["-n", watchkeeper_namespace]
    kubectl("create", "deployment", "web", "--image=web:1", *here)
    kubectl("label", "deploy", "web", "team=a", *here)
    kubectl("annotate", "deploy", "web", "note=b", *here)
    kubectl("patch", "deploy", "web", "-p", '{"spec":{"minReadySeconds":4}}', *here)
    kubectl(
        "patch",
        "deploy",
        "web",
        "--type=json",
        "-p",
        '[{"op":"add","path":"/spec/revisionHistoryLimit","value":5}]',
        *here,
    )
    kubectl("patch", "deploy", "web", "--type=merge", "-p", '{"spec":{"paused":true}}', *here)
    kubectl("set", "image", "deploy/web", "web=web:2", *here)
    kubectl("set", "env", "deploy/web", "A=b", *here)
    kubectl("scale", "deploy", "web", "--replicas=7", *here)
    kubectl("autoscale", "deploy", "web", "--min=1", "--max=3", *here)
    kubectl("expose", "deploy", "web", "--port=81", *here)
    found = json.loads(kubectl("get", "deploy", "web", "-o", "json", *here))
    spec = found["spec"]
    container = spec["template"]["spec"]["containers"][0]
    assert found["metadata"]["labels"] == {"app": "web", "team": "a"}
    assert found["metadata"]["annotations"] == {"note": "b"}
    assert (spec["minReadySeconds"], spec["revisionHistoryLimit"], spec["paused"], spec["replicas"]) == (4, 5, True, 7)
    assert (container["image"], container["env"]) == ("web:2", [{"name": "A", "value": "b"}])


def test_deleting_waits_until_it_is_done(kubectl: Kubectl, watchkeeper_namespace: str) -> None:
    here = ["-n", watchkeeper_namespace]
    kubectl("run", "box", "--image=busybox", "--labels=a=b", *here)
    kubectl("create", "deployment", "web", "--image=web:1", *here)
    kubectl("delete", "deploy", "web", "--cascade=foreground", *here)
    kubectl("delete", "pod", "-l", "a=b", "--wait", *here)
    assert "NotFound" in kubectl.fails("get", "pod", "box", *here)
    kubectl("wait", "--for=delete", "pod/box", "--timeout=5s", *here)


def test_the_server_says_what_it_is(kubectl: Kubectl) -> None:
    assert "cluster" in kubectl("cluster-info").lower()
    assert "deployments" in kubectl("api-resources")
    assert "apps/v1" in kubectl("api-versions").splitlines()
    assert kubectl("get", "--raw", "/readyz") == "ok"

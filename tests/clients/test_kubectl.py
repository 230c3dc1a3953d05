"""The real kubectl, a real server, and manifests as people deploy them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kubectl_runner import KUBECTL, Kubectl

SHOP = Path(__file__).parent / "webshop.yaml"

pytestmark = [
    pytest.mark.kubectl,
    pytest.mark.skipif(not Path(KUBECTL).exists(), reason="kubectl is not installed beside Python"),
]


@pytest.fixture(scope="module")
def shop(watchkeeper_kubeconfig: Path, kubectl_home: Path) -> Iterator[Kubectl]:
    kubectl = Kubectl(watchkeeper_kubeconfig, kubectl_home)
    created = kubectl(f"apply -f {SHOP}")
    assert {line.rpartition(" ")[2] for line in created.splitlines()} == {"created"}
    yield kubectl
    # No controller runs that would take the protection of claims away.
    kubectl('-n shop patch pvc uploads --type=merge -p \'{"metadata":{"finalizers":null}}\'')
    kubectl("delete namespace/shop priorityclass/shop-critical")


def test_a_web_shop_applied_again_does_not_differ(shop: Kubectl) -> None:
    assert shop(f"diff -f {SHOP}") == ""
    again = {line.rpartition(" ")[2] for line in shop(f"apply -f {SHOP}").splitlines()}
    assert "created" not in again


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("get deploy", "storefront   0/3"),
        ("get svc payment", "NodePort"),
        ("get svc -o wide", "SELECTOR"),
        ("get ing", "shop.example.com"),
        ("get hpa", "cpu: <unknown>/70%"),
        ("get pdb", "50%"),
        ("get cj", "*/15 * * * *"),
        ("get pvc", "Pending"),
        ("get netpol database", "app.kubernetes.io/name=database"),
        ("get deploy --show-labels -l tier=edge", "tier=edge"),
        ("get deploy -A --field-selector metadata.name=catalog -o name", "deployment.apps/catalog"),
        ("get cm shop-settings -o 'jsonpath={.data.LOG_LEVEL}'", "info"),
        ("get svc --sort-by=.metadata.name -o custom-columns=N:.metadata.name", "catalog"),
        ("get secret database -o yaml", "password: bm90LWEtcmVhbC1vbmU="),
        ("describe deploy storefront", "25% max unavailable, 1 max surge"),
        ("describe svc storefront", "TargetPort:               http/TCP"),
        ("describe ingress shop", "/api/catalog   catalog:8080"),
        ("explain deployment.spec.strategy", "rollingUpdate"),
        ("auth can-i create pods", "yes"),
        ("auth whoami", "system:masters"),
        ("rollout history deploy/storefront", "No rollout history found."),
    ],
)
def test_a_web_shop_is_shown(shop: Kubectl, line: str, shown: str) -> None:
    assert shown in shop(f"-n shop {line}")


def test_every_kind_of_the_shop_is_described(shop: Kubectl) -> None:
    everything = shop(
        "-n shop describe cm,cj,ds,deploy,hpa,ing,job,limits,quota,netpol,pvc,pdb,role,rolebinding,secret,sa,sts,svc"
    )
    for words in (
        "Resource    Used  Hard\n",
        "Container   cpu       -    -    50m              500m           -\n",
        "  resource cpu on pods  (as a percentage of request):  <unknown> / 70%\n",
        "  shop.example.com  \n",
        "    Allowed disruptions:  0\n",
        "      PodSelector: app.kubernetes.io/name in (checkout,storefront)\n",
        "  configmaps  []                 []              [get list watch]\n",
        "password:  14 bytes\n",
        "Finalizers:    [kubernetes.io/pvc-protection]\n",
        "      POSTGRES_USER:      <set to the key 'username' in secret 'database'>  Optional: false\n",
        "Concurrency Policy:            Forbid\n",
        "Pods Statuses:               0 Active / 0 Succeeded / 0 Failed\n",
    ):
        assert words in everything, words
    assert "Resource Quotas\n  Name:     shop\n" in shop("describe namespace shop")
    assert shop("describe priorityclass shop-critical").endswith("Events:  <none>\n")
    assert shop("-n shop describe deploy storefront").split()[-2:] == ["Events:", "<none>"]

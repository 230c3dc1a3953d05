"""An etcd that a kube-apiserver has filled: looked into, exported, repaired and re-encrypted."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import yaml
from filled_etcd import filled, on_etcd
from test_values_of_kube_apiserver import AUTOSCALER, MAGIC, SECRET, definition, field, get_when_served
from test_values_of_kube_apiserver import stored as protobuf

from watchkeeper.kv.interface import KV
from watchkeeper.server import cli
from watchkeeper.testing import Server
from watchkeeper.testing.etcd import find_etcd
from watchkeeper.testing.handle import RequestFailed

pytestmark = [
    pytest.mark.etcd,
    pytest.mark.skipif(find_etcd() is None, reason="there is no etcd here"),
]

PREFIX = "/repaired"
SECRETS = "/api/v1/namespaces/default/secrets"
VALUES = {
    "/secrets/default/mine": SECRET,
    "/secrets/default/broken": b"k8s:enc:aesgcm:v1:lost:" + bytes(40),
    "/horizontalpodautoscalers/default/web": AUTOSCALER,
    "/apiextensions.k8s.io/customresourcedefinitions/carts.shop.example.com": definition(),
    "/shop.example.com/carts/default/c": json.dumps(
        {
            "apiVersion": "shop.example.com/v1",
            "kind": "Cart",
            "metadata": {"name": "c", "namespace": "default", "uid": "1"},
        }
    ).encode(),
}


@pytest.fixture
def storage() -> str:
    """The URL of an etcd with what a kube-apiserver and an accident have left in it."""
    return filled(PREFIX, VALUES)


def stored(key: str) -> bytes:
    async def read(kv: KV) -> bytes:
        found = (await kv.get(f"{PREFIX}{key}".encode())).kv
        assert found is not None
        return found.value

    return on_etcd(read)


def revision() -> int:
    return on_etcd(lambda kv: kv.current_revision())


def test_it_is_exported_without_a_server_and_without_a_write(
    storage: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = revision()
    target = tmp_path / "all.yaml"
    arguments = ["--storage", storage, "--etcd-prefix", PREFIX, "--data-dir", str(tmp_path), "-o", str(target)]
    assert cli.main(["export", "--all", "--include-secrets", *arguments]) == 1
    told = capsys.readouterr().err
    assert f"cannot read {PREFIX}/secrets/default/broken: the value is encrypted" in told
    assert revision() == before
    found = {obj["kind"]: obj for obj in yaml.safe_load_all(target.read_text())}
    assert found.keys() == {"CustomResourceDefinition", "Secret", "HorizontalPodAutoscaler", "Cart"}
    assert found["HorizontalPodAutoscaler"]["apiVersion"] == "autoscaling/v2"
    assert found["Secret"]["data"] == {"k": base64.b64encode(b"\0v").decode()}
    assert found["Cart"]["metadata"] == {"name": "c", "namespace": "default"}
    with Server(insecure_http=True, controllers=()) as server:
        assert cli.main(["import", str(target), "--kubeconfig", str(server.kubeconfig)]) == 0
        assert server.request("GET", "/apis/shop.example.com/v1/namespaces/default/carts/c")["kind"] == "Cart"


def test_it_is_repaired_and_re_encrypted_and_others_read_it(storage: str, tmp_path: Path) -> None:
    secret = base64.b64encode(bytes(range(32))).decode()
    config = tmp_path / "config"
    config.write_text(
        "{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{resources: [secrets], "
        f"providers: [{{secretbox: {{keys: [{{name: new, secret: {secret}}}]}}}}, {{identity: {{}}}}]}}]}}"
    )
    options = {"storage": storage, "etcd_prefix": PREFIX, "controllers": (), "insecure_http": True}
    with Server(**options, encryption_provider_config=config) as server:
        with pytest.raises(RequestFailed) as caught:
            server.request("GET", SECRETS)
        assert f"{PREFIX}/secrets/default/broken" in str(caught.value)
        server.request("DELETE", f"{SECRETS}/broken?ignoreStoreReadErrorWithClusterBreakingPotential=true")
        [mine] = server.request("GET", SECRETS)["items"]
        assert stored("/secrets/default/mine").startswith(MAGIC)
        server.request("PUT", f"{SECRETS}/mine", {"apiVersion": "v1", "kind": "Secret", **mine})
        assert stored("/secrets/default/mine").startswith(b"k8s:enc:secretbox:v1:new:")
        assert server.request("GET", f"{SECRETS}/mine")["data"] == mine["data"]
    with Server(**options, encryption_provider_config=config) as server:
        assert server.request("GET", f"{SECRETS}/mine")["data"] == mine["data"]


def test_events_may_lie_on_an_etcd_and_the_rest_elsewhere(storage: str) -> None:
    servers = storage.replace(",", ";")
    with Server(
        insecure_http=True, controllers=(), etcd_prefix=PREFIX, etcd_servers_overrides=(f"/events#{servers}",)
    ) as server:
        about = {"kind": "Pod", "namespace": "default", "name": "p"}
        event = {"metadata": {"name": "e"}, "involvedObject": about}
        server.request("POST", "/api/v1/namespaces/default/events", event)
        server.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
        assert b'"name":"e"' in stored("/events/default/e")
        with pytest.raises(AssertionError):
            stored("/configmaps/default/c")


def test_a_server_joins_those_that_have_written_it(tmp_path: Path) -> None:
    taken = bytes([0b1000, *bytes(345)])
    url = filled(
        "/joined",
        {
            "/ranges/servicenodeports": protobuf(
                "v1", "RangeAllocation", field(1, "") + field(2, "30000-32767") + field(3, taken)
            ),
            "/masterleases/192.0.2.9": protobuf(
                "v1", "Endpoints", field(1, field(7, 3)) + field(2, field(1, field(1, "192.0.2.9")))
            ),
        },
    )
    with Server(
        storage=f"etcd://{url.replace('http://', '')}",
        etcd_prefix="/joined",
        insecure_http=True,
        controllers=(),
        data_dir=tmp_path,
        advertise_address="192.0.2.7",
    ) as server:
        found = get_when_served(server, "/api/v1/namespaces/default/endpoints/kubernetes")
        addresses = [each["ip"] for each in found["subsets"][0]["addresses"]]
        assert addresses == ["192.0.2.7", "192.0.2.9"]
        ports = [{"port": 80, "nodePort": 30004}]
        service = {"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": ports}}
        server.request("POST", "/api/v1/namespaces/default/services", service)
    written = json.loads(on_etcd(lambda kv: kv.get(b"/joined/ranges/servicenodeports")).kv.value)
    assert written["range"] == "30000-32767"
    assert 1 << 4 & base64.b64decode(written["data"])[-1]

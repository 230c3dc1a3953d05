"""A server over what kube-apiserver has stored: protobuf, older versions, JSON of its own, encrypted or not."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from stored_values import put, value

from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

MAGIC = b"k8s\0"


def field(number: int, content: bytes | str | int) -> bytes:
    """One field of a message."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    data = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def stored(api_version: str, kind: str, message: bytes) -> bytes:
    """A value as kube-apiserver writes it: the mark, the type, the message, and no content type."""
    unknown = field(1, field(1, api_version) + field(2, kind)) + field(2, message) + field(3, "") + field(4, "")
    return MAGIC + unknown


def metadata(name: str, namespace: str = "default") -> bytes:
    label = field(11, field(1, "app") + field(2, name))
    created = field(8, field(1, 1_700_000_000) + field(2, 0))
    return (
        field(1, name) + field(2, "") + field(3, namespace) + field(5, f"uid-of-{name}") + field(7, 0) + created + label
    )


SECRET = stored(
    "v1", "Secret", field(1, metadata("mine")) + field(2, field(1, "k") + field(2, b"\0v")) + field(3, "Opaque")
)
AUTOSCALER = stored(
    "autoscaling/v1",
    "HorizontalPodAutoscaler",
    field(1, metadata("web"))
    + field(2, field(1, field(1, "Deployment") + field(2, "web") + field(3, "apps/v1")) + field(3, 5) + field(4, 70)),
)


def definition() -> bytes:
    size = field(5, "integer") + field(8, field(1, "3"))
    spec = field(5, "object") + field(29, field(1, "size") + field(2, size))
    schema = field(5, "object") + field(29, field(1, "spec") + field(2, spec))
    version = field(1, "v1") + field(2, 1) + field(3, 1) + field(4, field(1, schema))
    names = field(1, "carts") + field(2, "cart") + field(4, "Cart") + field(5, "CartList")
    crd = field(1, "shop.example.com") + field(3, names) + field(4, "Namespaced") + field(7, version)
    conditions = b"".join(field(1, field(1, name) + field(2, "True")) for name in ("NamesAccepted", "Established"))
    status = conditions + field(2, names) + field(3, "v1")
    return stored(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        field(1, metadata("carts.shop.example.com", "")) + field(2, crd) + field(3, status),
    )


def serving(tmp_path: Path, **options: Any) -> Server:
    return Server(storage=f"sqlite:{tmp_path / 'db'}", insecure_http=True, controllers=(), **options)


def get_when_served(server: Handle, path: str) -> Any:
    end = time.monotonic() + 10
    while True:
        try:
            return server.request("GET", path)
        except RequestFailed as error:
            if error.status != 404 or time.monotonic() > end:
                raise
        time.sleep(0.05)


def test_protobuf_is_read_listed_selected_and_written_back_as_json(tmp_path: Path) -> None:
    key = "/registry/secrets/default/mine"
    put(tmp_path / "db", {key: SECRET})
    secrets = "/api/v1/namespaces/default/secrets"
    with serving(tmp_path) as server:
        found = server.request("GET", f"{secrets}/mine")
        assert found["data"] == {"k": base64.b64encode(b"\0v").decode()}
        assert found["metadata"]["creationTimestamp"] == "2023-11-14T22:13:20Z"
        assert found["metadata"]["uid"] == "uid-of-mine"
        assert "generateName" not in found["metadata"]
        assert (
            len(server.request("GET", f"{secrets}?labelSelector=app%3Dmine&fieldSelector=type%3DOpaque")["items"]) == 1
        )
        assert value(tmp_path / "db", key).startswith(MAGIC)
        same = server.request("PUT", f"{secrets}/mine", found)  # changes nothing, but renews what is stored
        assert int(same["metadata"]["resourceVersion"]) > int(found["metadata"]["resourceVersion"])
        again = server.request("PUT", f"{secrets}/mine", same)
        assert again["metadata"]["resourceVersion"] == same["metadata"]["resourceVersion"]
    written = json.loads(value(tmp_path / "db", key))
    assert (written["apiVersion"], written["kind"], written["data"]) == ("v1", "Secret", found["data"])


def test_encrypted_protobuf_is_read_with_the_same_configuration(tmp_path: Path) -> None:
    key = "/registry/secrets/default/mine"
    secret = bytes(range(32))
    sealed = AESGCM(secret).encrypt(bytes(12), SECRET, key.encode())
    put(tmp_path / "db", {key: b"k8s:enc:aesgcm:v1:key1:" + bytes(12) + sealed})
    (tmp_path / "config").write_text(
        "{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{resources: [secrets], "
        f"providers: [{{aesgcm: {{keys: [{{name: key1, secret: {base64.b64encode(secret).decode()}}}]}}}}]}}]}}"
    )
    with serving(tmp_path, encryption_provider_config=tmp_path / "config") as server:
        found = server.request("GET", "/api/v1/namespaces/default/secrets/mine")
        assert found["metadata"]["uid"] == "uid-of-mine"


def test_what_was_stored_at_another_version_is_converted(tmp_path: Path) -> None:
    other = {
        "kind": "HorizontalPodAutoscaler",
        "apiVersion": "autoscaling/v1",
        "metadata": {"name": "api", "namespace": "default", "uid": "1"},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "api"}, "maxReplicas": 3},
    }
    prefix = "/registry/horizontalpodautoscalers/default"
    put(tmp_path / "db", {f"{prefix}/web": AUTOSCALER, f"{prefix}/api": json.dumps(other).encode()})
    with serving(tmp_path) as server:
        autoscalers = "namespaces/default/horizontalpodautoscalers"
        api, web = server.request("GET", f"/apis/autoscaling/v2/{autoscalers}")["items"]
        assert web["spec"]["metrics"] == [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
            }
        ]
        assert (web["spec"]["minReplicas"], api["spec"]["minReplicas"]) == (1, 1)
        old = server.request("GET", f"/apis/autoscaling/v1/{autoscalers}/web")
        assert old["spec"]["targetCPUUtilizationPercentage"] == 70


def test_a_definition_stored_as_protobuf_serves_its_custom_resources(tmp_path: Path) -> None:
    cart: dict[str, Any] = {"apiVersion": "shop.example.com/v1", "kind": "Cart", "spec": {}}
    cart["metadata"] = {"name": "c", "namespace": "default", "uid": "1"}
    put(
        tmp_path / "db",
        {
            "/registry/apiextensions.k8s.io/customresourcedefinitions/carts.shop.example.com": definition(),
            "/registry/shop.example.com/carts/default/c": json.dumps(cart).encode(),
        },
    )
    with serving(tmp_path) as server:
        found = get_when_served(server, "/apis/shop.example.com/v1/namespaces/default/carts/c")
        assert found["spec"] == {"size": 3}


@pytest.mark.parametrize(
    ("raw", "cause"),
    [
        (SECRET[:-40], "unexpected EOF"),
        (stored("v1", "Pod", b""), "expected v1 Secret, found v1 Pod"),
        (
            stored("old.example.com/v1", "Secret", b""),
            'no kind "Secret" is registered for version "old.example.com/v1"',
        ),
    ],
)
def test_protobuf_that_cannot_be_read_is_named(tmp_path: Path, raw: bytes, cause: str) -> None:
    put(tmp_path / "db", {"/registry/secrets/default/mine": raw})
    with serving(tmp_path) as server, pytest.raises(RequestFailed) as caught:
        server.request("GET", "/api/v1/namespaces/default/secrets/mine")
    assert caught.value.status == 500
    message = json.loads(str(caught.value).partition("500: ")[2])["message"]
    assert "/registry/secrets/default/mine" in message
    assert cause in message


def test_a_definition_as_release_1_36_stores_it_serves_its_custom_resources(tmp_path: Path) -> None:
    names = {"plural": "carts", "singular": "cart", "kind": "Cart", "listKind": "CartList"}
    conditions = [{"type": name, "status": "True"} for name in ("NamesAccepted", "Established")]
    definition = {
        "kind": "CustomResourceDefinition",
        "apiVersion": "apiextensions.k8s.io/v1beta1",
        "metadata": {"name": "carts.shop.example.com", "uid": "1", "generation": 1},
        "spec": {
            "group": "shop.example.com",
            "version": "v1",
            "names": names,
            "scope": "Namespaced",
            "validation": {"openAPIV3Schema": {"type": "object", "properties": {"size": {"type": "integer"}}}},
            "subresources": {"status": {}},
            "additionalPrinterColumns": [{"name": "Size", "type": "integer", "JSONPath": ".size"}],
            "versions": [{"name": "v1", "served": True, "storage": True}],
            "conversion": {"strategy": "None"},
            "preserveUnknownFields": False,
        },
        "status": {"conditions": conditions, "acceptedNames": names, "storedVersions": ["v1"]},
    }
    old = {
        **definition,
        "metadata": {"name": "wagons.shop.example.com", "uid": "2"},
        "spec": {"group": "shop.example.com", "version": "v1", "names": {"plural": "wagons", "kind": "Wagon"}},
    }
    old["spec"]["validation"] = {"openAPIV3Schema": {"type": "object", "properties": {"load": {"minimum": 1}}}}
    old["status"] = {**old["status"], "acceptedNames": {"plural": "wagons", "kind": "Wagon"}}
    wagon = {"apiVersion": "shop.example.com/v1", "kind": "Wagon", "metadata": {"name": "w", "namespace": "default"}}
    prefix = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
    put(
        tmp_path / "db",
        {
            prefix + "carts.shop.example.com": json.dumps(definition).encode(),
            prefix + "wagons.shop.example.com": json.dumps(old).encode(),
            "/registry/shop.example.com/wagons/default/w": json.dumps({**wagon, "free": {"form": [1]}}).encode(),
        },
    )
    with serving(tmp_path) as server:
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/carts.shop.example.com"
        found = server.request("GET", path)
        assert found["apiVersion"] == "apiextensions.k8s.io/v1"
        [version] = found["spec"]["versions"]
        assert version["additionalPrinterColumns"][0]["jsonPath"] == ".size"
        carts = "/apis/shop.example.com/v1/namespaces/default/carts"
        assert get_when_served(server, carts)["items"] == []
        cart = {"apiVersion": "shop.example.com/v1", "kind": "Cart", "metadata": {"name": "c"}, "size": 1, "more": 2}
        made = server.request("POST", carts, cart)
        assert (made["size"], "more" in made) == (1, False)
        assert get_when_served(server, "/apis/shop.example.com/v1/namespaces/default/wagons/w")["free"] == {"form": [1]}
        shown = server.request("GET", "/openapi/v3/apis/shop.example.com/v1")["components"]["schemas"]
        assert "size" in shown["com.example.shop.v1.Cart"]["properties"]
        assert "properties" not in shown["com.example.shop.v1.Wagon"]


def test_a_policy_as_release_1_36_stores_it_is_in_force(tmp_path: Path) -> None:
    version = "admissionregistration.k8s.io/v1beta1"
    rule = field(1, "") + field(2, "v1") + field(3, "configmaps") + field(4, "*")
    resources = field(3, field(2, field(1, "CREATE") + field(2, rule))) + field(7, "Equivalent")
    mutation = field(2, "ApplyConfiguration") + field(3, field(1, 'Object{data: {"by": "policy"}}'))
    spec = field(2, resources) + field(4, mutation) + field(5, "Fail") + field(7, "Never")
    put(
        tmp_path / "db",
        {
            "/registry/mutatingadmissionpolicies/mark": stored(
                version, "MutatingAdmissionPolicy", field(1, metadata("mark", "")) + field(2, spec)
            ),
            "/registry/mutatingadmissionpolicybindings/mark": stored(
                version,
                "MutatingAdmissionPolicyBinding",
                field(1, metadata("mark", "")) + field(2, field(1, "mark")),
            ),
        },
    )
    with serving(tmp_path) as server:
        path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/mark"
        assert server.request("GET", path)["spec"]["reinvocationPolicy"] == "Never"
        made = server.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
        assert made["data"] == {"by": "policy"}

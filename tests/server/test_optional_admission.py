"""PodNodeSelector and ImagePolicyWebhook, which are on where they are turned on."""

from __future__ import annotations

import http.server
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from https_server import HttpsServer

from watchkeeper.admission.image_policy import parse_policy
from watchkeeper.meta.go_durations import format_duration
from watchkeeper.server.admission_configuration import load_admission_configuration
from watchkeeper.server.errors import StartupError
from watchkeeper.testing import Server
from watchkeeper.testing.etcd_certificates import make_certificates
from watchkeeper.testing.handle import Handle, RequestFailed

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"
SELECTOR = "scheduler.alpha.kubernetes.io/node-selector"
SELECTORS = """\
podNodeSelectorPluginConfig:
  clusterDefaultNodeSelector: "zone=all"
  strict: "zone=here,disk=ssd"
"""


def configuration(folder: Path, plugin: str, text: str) -> Path:
    (folder / "plugin.yaml").write_text(text)
    file = folder / "admission.yaml"
    file.write_text(f"{HEAD}plugins: [{{name: {plugin}, path: plugin.yaml}}]")
    return file


def pod(name: str, image: str = "i", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": image}], **spec}}


def make(server: Handle, namespace: str, body: Any) -> Any:
    return server.request("POST", f"/api/v1/namespaces/{namespace}/pods", body)


def refusal(server: Handle, namespace: str, body: Any) -> str:
    with pytest.raises(RequestFailed) as refused:
        make(server, namespace, body)
    return str(refused.value.answer["message"])


@pytest.fixture(scope="module")
def selecting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handle]:
    file = configuration(tmp_path_factory.mktemp("config"), "PodNodeSelector", SELECTORS)
    on = {"enable_admission_plugins": ("PodNodeSelector",)}
    with Server(admission_control_config_file=file, controllers=(), **on) as running:
        for name, selector in (("strict", "zone=here"), ("none", ""), ("bad", "a"), ("worse", "a=b c")):
            body = {"metadata": {"name": name, "annotations": {SELECTOR: selector}}}
            running.request("POST", "/api/v1/namespaces", body)
        yield running


def test_pods_go_where_their_namespace_says(selecting: Handle) -> None:
    found = make(selecting, "strict", pod("a", nodeSelector={"disk": "ssd"}))
    assert found["spec"]["nodeSelector"] == {"zone": "here", "disk": "ssd"}
    assert make(selecting, "default", pod("a"))["spec"]["nodeSelector"] == {"zone": "all"}
    assert "nodeSelector" not in make(selecting, "none", pod("a"))["spec"]


@pytest.mark.parametrize(
    ("namespace", "selector", "told"),
    [
        ("strict", {"zone": "there"}, 'pods "b" is forbidden: pod node label selector conflicts with its namespace node'
                                      " label selector"),
        ("strict", {"disk": "hdd"}, 'pods "b" is forbidden: pod node label selector labels conflict with its namespace'
                                    " whitelist"),
        ("strict", {"x": "y"}, 'pods "b" is forbidden: pod node label selector labels conflict with its namespace'
                               " whitelist"),
        ("bad", {}, "invalid selector: [a]"),
        ("worse", {}, '[a]: Invalid value: "b c": '),
    ],
)  # fmt: skip
def test_what_contradicts_that_is_refused(selecting: Handle, namespace: str, selector: Any, told: str) -> None:
    assert refusal(selecting, namespace, pod("b", nodeSelector=selector)).startswith(told)


def test_it_is_off_unless_it_is_turned_on(tmp_path: Path) -> None:
    file = configuration(tmp_path, "PodNodeSelector", SELECTORS)
    assert load_admission_configuration(file).node_selectors is None
    assert load_admission_configuration(None, (), ("PodNodeSelector",)).node_selectors == {}


class Judge:
    """A backend that refuses images whose name says so."""

    def __init__(self, folder: Path) -> None:
        make_certificates(folder)
        self.folder = folder
        self.reviews: list[Any] = []
        self.statuses: list[int] = []
        """With what it answers first, one request after the other."""
        self.odd: Any = None
        """What it says in place of a status."""
        judge = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                review = json.loads(body)
                judge.reviews.append((json.loads(body), self.headers.get("Authorization")))
                status = judge.statuses.pop(0) if judge.statuses else 200
                images = [each["image"] for each in review["spec"]["containers"]]
                why = "" if "silent" in images else "no good"
                refused = {"allowed": False, "reason": why} if {"bad", "silent"} & set(images) else {"allowed": True}
                review["status"] = {**refused, "auditAnnotations": {"seen": "yes"}}
                if judge.odd is not None:
                    review["status"] = judge.odd
                body = json.dumps(review).encode() if status == 200 else b"broken"
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = HttpsServer(folder, Handler)
        self.kubeconfig = folder / "kubeconfig"
        self.kubeconfig.write_text(
            json.dumps(
                {
                    "clusters": [{"name": "c", "cluster": {"server": self.url, "certificate-authority": "ca.crt"}}],
                    "users": [{"name": "u", "user": {"token": "secret"}}],
                    "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
                    "current-context": "x",
                }
            )
        )

    @property
    def url(self) -> str:
        return f"{self._server.url}/policy"

    def policy(self, **fields: Any) -> str:
        return json.dumps({"imagePolicy": {"kubeConfigFile": str(self.kubeconfig), "retryBackoff": 1, **fields}})

    def close(self) -> None:
        self._server.close()


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Judge]:
    made = Judge(tmp_path_factory.mktemp("judge"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def judged(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handle]:
    file = configuration(tmp_path_factory.mktemp("config"), "ImagePolicyWebhook", judge.policy())
    on = {"enable_admission_plugins": ("ImagePolicyWebhook",)}
    with Server(admission_control_config_file=file, controllers=(), **on) as running:
        yield running


def test_a_backend_judges_images(judge: Judge, judged: Handle) -> None:
    judge.reviews.clear()
    body = pod("good", initContainers=[{"name": "i", "image": "first"}])
    body["metadata"]["annotations"] = {"a.image-policy.k8s.io/b": "c", "other": "x"}
    make(judged, "default", body)
    [(review, credentials)] = judge.reviews
    assert credentials == "Bearer secret"
    assert review == {
        "kind": "ImageReview",
        "apiVersion": "imagepolicy.k8s.io/v1alpha1",
        "metadata": {},
        "spec": {
            "containers": [{"image": "i"}, {"image": "first"}],
            "annotations": {"a.image-policy.k8s.io/b": "c"},
            "namespace": "default",
        },
        "status": {"allowed": False},
    }
    forbidden = 'pods "x" is forbidden: '
    assert refusal(judged, "default", pod("x", "bad")) == (
        f"{forbidden}image policy webhook backend denied one or more images: no good"
    )
    assert (
        refusal(judged, "default", pod("x", "silent")) == f"{forbidden}one or more images rejected by webhook backend"
    )


def test_answers_are_remembered(judge: Judge, judged: Handle) -> None:
    make(judged, "default", pod("r1", "remembered"))
    judge.reviews.clear()
    make(judged, "default", pod("r2", "remembered"))
    assert judge.reviews == []
    judged.request("PATCH", "/api/v1/namespaces/default/pods/r2", {"metadata": {"labels": {"a": "b"}}})
    assert judge.reviews == []


def test_a_backend_that_fails_is_asked_again(judge: Judge, judged: Handle) -> None:
    judge.statuses[:] = [500, 504, 429, 500]
    make(judged, "default", pod("again", "again"))
    judge.statuses[:] = [500] * 5
    assert refusal(judged, "default", pod("never", "never")) == (
        'pods "never" is forbidden: an error on the server ("broken") has prevented the request from succeeding'
    )
    judge.statuses[:] = [404]
    assert refusal(judged, "default", pod("never", "no")) == (
        'pods "never" is forbidden: the server could not find the requested resource'
    )
    judge.statuses[:] = [403]
    assert refusal(judged, "default", pod("never", "passed on")) == "broken"
    judge.statuses.clear()


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"allowed": "false"}, "string into Go struct field ImageReviewStatus.status.allowed of type bool"),
        ({"allowed": 1}, "number into Go struct field ImageReviewStatus.status.allowed of type bool"),
        ({"allowed": True, "reason": []}, "array into Go struct field ImageReviewStatus.status.reason of type string"),
        ({"allowed": True, "auditAnnotations": ["a"]}, "array into Go struct field"
         " ImageReviewStatus.status.auditAnnotations of type map[string]string"),
        ({"allowed": True, "auditAnnotations": {"a": 1}}, "number into Go struct field"
         " ImageReviewStatus.status.auditAnnotations of type string"),
    ],
)  # fmt: skip
def test_what_is_no_status_allows_nothing(judge: Judge, judged: Handle, status: Any, told: str) -> None:
    judge.odd = status
    try:
        refused = refusal(judged, "default", pod("odd", f"odd-{told}"))
    finally:
        judge.odd = None
    assert refused == f'pods "odd" is forbidden: json: cannot unmarshal {told}'


def test_pods_may_pass_while_nobody_answers(judge: Judge, tmp_path: Path) -> None:
    file = configuration(tmp_path, "ImagePolicyWebhook", judge.policy(defaultAllow=True))
    kubeconfig = judge.kubeconfig.read_text()
    judge.kubeconfig.write_text(kubeconfig.replace(judge.url, "https://127.0.0.1:1"))
    try:
        on = {"enable_admission_plugins": ("ImagePolicyWebhook",)}
        with Server(admission_control_config_file=file, controllers=(), **on) as running:
            assert make(running, "default", pod("x", "bad"))["metadata"]["name"] == "x"
    finally:
        judge.kubeconfig.write_text(kubeconfig)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"imagePolicy": {"allowTTL": 3600}}', "valid value is between 1s and 30m0s, got 1h0m0s"),
        ('{"imagePolicy": {"denyTTL": -2}}', "valid value is between 1s and 30m0s, got -2s"),
        ('{"imagePolicy": {"retryBackoff": 300001}}', "valid value is between 1ns and 5m0s, got 5m0.001s"),
        ('{"imagePolicy": {"allowTTL": "5s"}}', "json: cannot unmarshal string into Go struct field"
         " imagePolicyWebhookConfig.imagePolicy.allowTTL of type time.Duration"),
        ('{"imagePolicy": {"kubeConfigFile": "/nowhere"}}', "stat /nowhere: no such file or directory"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_keeps_a_server_from_starting(tmp_path: Path, text: str, told: str) -> None:
    file = configuration(tmp_path, "ImagePolicyWebhook", text)
    with pytest.raises(StartupError) as refused:
        load_admission_configuration(file, (), ("ImagePolicyWebhook",))
    where = 'failed to apply admission: couldn\'t init admission plugin "ImagePolicyWebhook": '
    assert str(refused.value) == f"{where}{told}"
    with pytest.raises(StartupError, match="no config specified"):
        load_admission_configuration(None, (), ("ImagePolicyWebhook",))


def test_times_have_defaults_and_can_be_turned_off() -> None:
    policy = parse_policy("imagePolicy: {allowTTL: -1}")
    assert (policy.allow_ttl, policy.deny_ttl, policy.retry_backoff) == (0.0, 30.0, 0.5)


def test_owners_are_changed_by_who_may_where_that_is_turned_on(tmp_path: Path) -> None:
    (tmp_path / "tokens.csv").write_text("secret,ann,1\n")
    role = {"metadata": {"name": "w"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]}
    subject = {"kind": "User", "name": "ann", "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": "ClusterRole", "name": "w", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "w"}, "roleRef": reference, "subjects": [subject]}
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "blockOwnerDeletion": True}
    by_admin, by_ann = ({"metadata": {"name": name, "ownerReferences": [owner]}} for name in ("a", "b"))
    told = []
    for plugins in ((), ("OwnerReferencesPermissionEnforcement",)):
        on = {"enable_admission_plugins": plugins, "controllers": (), "token_auth_file": tmp_path / "tokens.csv"}
        with Server(**on) as server:
            server.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role)
            server.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
            server.request("POST", "/api/v1/namespaces/default/configmaps", by_admin)
            ann = Handle(server.url, "secret", server.kubeconfig, server.ca_pem)
            try:
                told.append(ann.request("POST", "/api/v1/namespaces/default/configmaps", by_ann)["kind"])
            except RequestFailed as refused:
                told.append(refused.answer["message"])
    why = "if an ownerReference refers to a resource you can't set finalizers on: , <nil>"
    assert told == ["ConfigMap", f'configmaps "b" is forbidden: cannot set blockOwnerDeletion {why}']


def test_durations_are_written_as_go_writes_them() -> None:
    spans = [0, 1, 1500, 2_500_000, 10**9, 61 * 10**9, 3_600_500_000_000]
    assert [format_duration(each) for each in spans] == [
        "0s", "1ns", "1.5\u00b5s", "2.5ms", "1s", "1m1s", "1h0m0.5s",
    ]  # fmt: skip


def test_how_long_pods_stay_on_nodes_that_fail_can_be_told() -> None:
    seconds = {"default_not_ready_toleration_seconds": 20, "default_unreachable_toleration_seconds": 30}
    body = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    with Server(storage="memory:", **seconds) as server:
        made = server.request("POST", "/api/v1/namespaces/default/pods", body)
    assert [(t["key"], t["tolerationSeconds"]) for t in made["spec"]["tolerations"]] == [
        ("node.kubernetes.io/not-ready", 20),
        ("node.kubernetes.io/unreachable", 30),
    ]

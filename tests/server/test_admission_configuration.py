"""What an AdmissionConfiguration tells the rules for writes."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from watchkeeper.server.admission_configuration import NOTHING_SAID, load_admission_configuration
from watchkeeper.server.errors import StartupError
from watchkeeper.testing import Server
from watchkeeper.testing.handle import Handle, RequestFailed

HEAD = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"
SECURITY = """\
apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
defaults: {enforce: baseline, enforce-version: v1.30, warn: restricted}
exemptions: {namespaces: [free], usernames: [ann], runtimeClasses: [vm]}
"""


def configuration(folder: Path, text: str = SECURITY, plugin: str = "PodSecurity") -> Path:
    (folder / "plugin.yaml").write_text(text)
    file = folder / "admission.yaml"
    file.write_text(f"{HEAD}plugins: [{{name: {plugin}, path: plugin.yaml}}]")
    return file


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Handle]:
    file = configuration(tmp_path_factory.mktemp("config"))
    with Server(admission_control_config_file=file, controllers=()) as running:
        for namespace in ("free", "strict"):
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            running.request("POST", "/api/v1/namespaces", body)
        classed = {"metadata": {"name": "vm"}, "handler": "vm"}
        running.request("POST", "/apis/node.k8s.io/v1/runtimeclasses", classed)
        yield running


def pod(name: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "i"}
    return {"metadata": {"name": name}, "spec": {"containers": [container], "hostNetwork": True, **spec}}


def make(server: Handle, namespace: str, body: Any, **headers: str) -> Any:
    return server.request("POST", f"/api/v1/namespaces/{namespace}/pods", body, headers=headers)


def test_defaults_hold_where_labels_say_nothing(server: Handle) -> None:
    with pytest.raises(RequestFailed) as refused:
        make(server, "strict", pod("a"))
    assert refused.value.answer["message"] == (
        'pods "a" is forbidden: violates PodSecurity "baseline:v1.30": host namespaces (hostNetwork=true)'
    )


def test_labels_count_before_defaults_and_leave_the_version(server: Handle) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "privileged"}
    body = {"metadata": {"name": "labeled", "labels": labels}}
    server.request("POST", "/api/v1/namespaces", body)
    assert make(server, "labeled", pod("a"))["metadata"]["name"] == "a"
    labels["pod-security.kubernetes.io/enforce"] = "restricted"
    server.request("PATCH", "/api/v1/namespaces/labeled", {"metadata": {"labels": labels}})
    with pytest.raises(RequestFailed) as refused:
        make(server, "labeled", pod("b"))
    assert 'violates PodSecurity "restricted:v1.30"' in refused.value.answer["message"]


def test_who_is_exempt_may_do_what_others_may_not(server: Handle) -> None:
    assert make(server, "free", pod("a"))["metadata"]["name"] == "a"
    assert make(server, "strict", pod("classed", runtimeClassName="vm"))["metadata"]["name"] == "classed"
    with pytest.raises(RequestFailed):
        make(server, "strict", pod("b"), **{"Impersonate-User": "bob", "Impersonate-Group": "system:masters"})
    ann = {"Impersonate-User": "ann", "Impersonate-Group": "system:masters"}
    assert make(server, "strict", pod("b"), **ann)["metadata"]["name"] == "b"


def test_the_metrics_count_who_is_exempt(server: Handle) -> None:
    series = 'pod_security_exemptions_total{request_operation="create",resource="pod",subresource=""} '

    def exempted() -> int:
        asked = urllib.request.Request(f"{server.url}/metrics", headers={"Authorization": f"Bearer {server.token}"})
        with urllib.request.urlopen(asked, context=server.ssl_context()) as answer:
            lines = answer.read().decode().splitlines()
        return next(int(line.removeprefix(series)) for line in lines if line.startswith(series))

    before = exempted()
    make(server, "free", pod("counted"))
    make(server, "strict", pod("counted", runtimeClassName="vm"))
    assert exempted() == before + 2


LIMITED = """\
apiVersion: apiserver.config.k8s.io/v1
kind: ResourceQuotaConfiguration
limitedResources:
- {resource: pods, matchContains: [cpu, count/]}
- {resource: pods, matchScopes: [{scopeName: PriorityClass, operator: In, values: [system-cluster-critical]}]}
"""


def test_what_is_limited_needs_a_quota(tmp_path: Path) -> None:
    with Server(
        admission_control_config_file=configuration(tmp_path, LIMITED, "ResourceQuota"), controllers=()
    ) as server:
        need = {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]}
        quota = {"metadata": {"name": "q"}, "spec": {"hard": {"requests.cpu": "2", "cpu": "2"}}}
        quotas = "/api/v1/namespaces/default/resourcequotas"

        def refusal(name: str, **spec: Any) -> str:
            with pytest.raises(RequestFailed) as refused:
                make(server, "default", {"metadata": {"name": name}, "spec": {**need, **spec}})
            return str(refused.value.answer["message"])

        assert refusal("a") == 'pods "a" is forbidden: insufficient quota to consume: count/pods,cpu,requests.cpu'
        server.request("POST", quotas, quota)
        server.request("PUT", f"{quotas}/q/status", {**quota, "status": {
            "hard": quota["spec"]["hard"], "used": {"requests.cpu": "0", "cpu": "0"}}})  # fmt: skip
        assert refusal("a") == 'pods "a" is forbidden: insufficient quota to consume: count/pods'
        hard = {"requests.cpu": "2", "cpu": "2", "count/pods": "3"}
        server.request("PATCH", f"{quotas}/q", {"spec": {"hard": hard}})
        server.request("PATCH", f"{quotas}/q/status", {"status": {"hard": hard, "used": dict.fromkeys(hard, "0")}})
        assert make(server, "default", {"metadata": {"name": "a"}, "spec": need})["metadata"]["name"] == "a"
        critical = refusal("b", priorityClassName="system-cluster-critical")
        wanted = "[{PriorityClass In [system-cluster-critical]}]"
        assert critical == f"insufficient quota to match these scopes: {wanted}"


EVENTS = """\
apiVersion: eventratelimit.admission.k8s.io/v1alpha1
kind: Configuration
limits:
- {type: Namespace, qps: 1, burst: 3, cacheSize: 50}
- {type: SourceAndObject, qps: 1, burst: 2}
"""


def test_events_are_limited_where_that_is_turned_on(tmp_path: Path) -> None:
    file = configuration(tmp_path, EVENTS, "EventRateLimit")
    on = {"enable_admission_plugins": ("EventRateLimit",)}
    with Server(admission_control_config_file=file, controllers=(), **on) as server:

        def told(name: str, about: str) -> str:
            event = {
                "metadata": {"name": name},
                "involvedObject": {"kind": "Pod", "namespace": "default", "name": about},
            }
            try:
                server.request("POST", "/api/v1/namespaces/default/events", event)
            except RequestFailed as error:
                return f"{error.status} {error.answer['reason']} {error.answer['message']}"
            return ""

        assert (told("a", "one"), told("b", "one")) == ("", "")
        about = "limit reached on type SourceAndObject for key Poddefaultone"
        assert told("c", "one") == f"429 TooManyRequests Too many requests: {about}"
        space = "limit reached on type Namespace for key default"
        assert told("d", "one") == f"429 TooManyRequests Too many requests: [{space}, {about}]"
        assert told("e", "two") == f"429 TooManyRequests Too many requests: {space}"


def test_limits_of_events_are_read_only_where_they_count(tmp_path: Path) -> None:
    file = configuration(tmp_path, EVENTS.replace("qps: 1", "qps: 0").replace("Namespace", "Names"), "EventRateLimit")
    assert load_admission_configuration(file) == NOTHING_SAID
    with pytest.raises(StartupError) as refused:
        load_admission_configuration(file, (), ("EventRateLimit",))
    assert str(refused.value) == (
        'failed to apply admission: couldn\'t init admission plugin "EventRateLimit": [limits[0].type: Unsupported'
        ' value: "Names": supported values: "Server", "Namespace", "User", "SourceAndObject", limits[0].qps: Invalid'
        " value: 0: must be positive, limits[1].qps: Invalid value: 0: must be positive]"
    )
    with pytest.raises(StartupError, match="EventRateLimit"):
        load_admission_configuration(None, (), ("EventRateLimit",))


def test_no_file_says_nothing() -> None:
    assert load_admission_configuration(None) is NOTHING_SAID


def test_plugins_that_are_off_or_unknown_are_told_nothing(tmp_path: Path) -> None:
    assert load_admission_configuration(configuration(tmp_path, "junk"), ("PodSecurity",)) == NOTHING_SAID
    assert load_admission_configuration(configuration(tmp_path, "junk", "NoSuch")) == NOTHING_SAID


def test_of_several_for_a_plugin_the_first_counts(tmp_path: Path) -> None:
    file = tmp_path / "admission.yaml"
    inline = (
        "{apiVersion: pod-security.admission.config.k8s.io/v1, kind: PodSecurityConfiguration,"
        " defaults: {audit: baseline}}"
    )
    first = f"{{name: PodSecurity, path: missing, configuration: {inline}}}"
    file.write_text(f"{HEAD}plugins: [{first}, {{name: PodSecurity, path: x}}]")
    found = load_admission_configuration(file).pod_security
    assert found is not None
    assert str(found.defaults.audit) == "baseline:latest"


def test_its_older_version_is_of_another_group(tmp_path: Path) -> None:
    file = configuration(tmp_path)
    file.write_text(file.read_text().replace("apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"))
    found = load_admission_configuration(file).pod_security
    assert found is not None
    assert str(found.defaults.enforce) == "baseline:v1.30"


def test_a_file_of_the_plugins_that_have_no_kinds_may_be_given_itself(tmp_path: Path) -> None:
    file = tmp_path / "plugin.yaml"
    file.write_text("podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: zone=a}")
    assert load_admission_configuration(file, enabled=("PodNodeSelector",)).node_selectors == {
        "clusterDefaultNodeSelector": "zone=a"
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("plugins: []", "Object 'Kind' is missing in 'plugins: []'"),
        ("", "Object 'Kind' is missing in ''"),
        ("kind: AdmissionConfiguration", "Object 'apiVersion' is missing in 'kind: AdmissionConfiguration'"),
        (HEAD.replace("/v1", "/v2"), 'no kind "AdmissionConfiguration" is registered for version'),
        (HEAD.replace("/v1", "/v1alpha1"), 'no kind "AdmissionConfiguration" is registered for version'),
        (HEAD + "plugin: []\nplugins: [{names: x}]",
         'strict decoding error: unknown field "plugin", unknown field "plugins[0].names"'),
        (HEAD + "plugins: []\nplugins: []", 'strict decoding error: yaml: unmarshal errors:'
         ' line 4: key "plugins" already set in map'),
        (HEAD + "plugins: [{name: 7}]", "json: cannot unmarshal number into field plugins[0].name"),
        ("[", "yaml: "),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "admission.yaml"
    file.write_text(text)
    with pytest.raises(StartupError) as refused:
        load_admission_configuration(file)
    assert str(refused.value).startswith(f"failed to apply admission: failed to read plugin config: {problem}")


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    file = tmp_path / "missing.yaml"
    with pytest.raises(StartupError) as refused:
        load_admission_configuration(file)
    assert str(refused.value) == (
        f"failed to apply admission: failed to read plugin config: unable to read admission control configuration"
        f' from "{file}"'
        " [no such file or directory]"
    )


@pytest.mark.parametrize(
    ("plugin", "text", "problem"),
    [
        ("PodSecurity", SECURITY + "more: 1", "couldn't init admission plugin \"PodSecurity\": strict decoding error:"
         ' unknown field "more"'),
        ("PodSecurity", SECURITY.replace("PodSecurityConf", "Conf"), "couldn't init admission plugin \"PodSecurity\":"
         ' no kind "Configuration" is registered for version "pod-security.admission.config.k8s.io/v1"'
         ' in scheme "pkg/runtime/scheme.go:111"'),
        ("PodSecurity", SECURITY.replace("baseline", "soft"), 'failed to initialize admission plugin "PodSecurity":'
         " PodSecurity configuration error: enforce: must be one of privileged, baseline, restricted"),
        ("PodSecurity", SECURITY.replace("restricted", "x").replace("v1.30", "'1.30'"), "failed to initialize admission"
         ' plugin "PodSecurity": PodSecurity configuration error: [enforce-version: must be "latest" or "v1.x", warn:'
         " must be one of privileged, baseline, restricted]"),
        ("PodSecurity", SECURITY.replace("[free]", "[a, a, A]").replace("[ann]", '[""]'),
         'failed to initialize admission plugin "PodSecurity": PodSecurity invalid:'
         ' [exemptions.namespaces[1]: Duplicate value: "a",'
         ' exemptions.namespaces[2]: Invalid value: "A": a lowercase RFC 1123 label must consist of lower case'
         " alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or"
         " '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?'), exemptions.usernames[0]: Invalid"
         ' value: "": username must not be empty]'),
        ("ValidatingAdmissionWebhook", "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\n"
         "kubeConfigFile: /nowhere", "couldn't init admission plugin \"ValidatingAdmissionWebhook\": stat /nowhere: no"
         " such file or directory"),
        ("ValidatingAdmissionWebhook", "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\n"
         "kubeConfigFile: here", "couldn't init admission plugin \"ValidatingAdmissionWebhook\": kubeConfigFile:"
         ' Invalid value: "here": must be an absolute file path'),
        ("ResourceQuota", LIMITED.replace("resource: pods, matchContains", "matchContains"), "couldn't init admission"
         ' plugin "ResourceQuota": limitedResources[0].resource: Required value'),
        ("MutatingAdmissionWebhook", "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\n"
         "file: here", "couldn't init admission plugin \"MutatingAdmissionWebhook\": strict decoding error: unknown"
         ' field "file"'),
    ],
)  # fmt: skip
def test_what_a_plugin_cannot_be_told_is_named(tmp_path: Path, plugin: str, text: str, problem: str) -> None:
    with pytest.raises(StartupError) as refused:
        load_admission_configuration(configuration(tmp_path, text, plugin))
    assert str(refused.value) == f"failed to apply admission: {problem}"


def test_webhooks_are_told_apart(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text("users: [{name: '*', user: {token: T}}]")
    text = f"apiVersion: apiserver.config.k8s.io/v1alpha1\nkind: WebhookAdmission\nkubeConfigFile: {kubeconfig}"
    found = load_admission_configuration(configuration(tmp_path, text, "MutatingAdmissionWebhook"))
    assert found.validating_webhooks is None
    assert repr(found.mutating_webhooks) == "<WebhookCredentials of 1 users>"

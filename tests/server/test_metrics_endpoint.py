"""/metrics of a running server: what was done shows under kube-apiserver's names."""

import base64
import datetime
import gzip
import re
import urllib.request

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from tests.waiting import eventually

from watchkeeper.endpoints.compression import prefers_gzip
from watchkeeper.testing import Server
from watchkeeper.testing.handle import RequestFailed


def status(server, path):
    try:
        server.request("GET", path)
    except RequestFailed as refused:
        return refused.status
    return 200


KEY = ec.generate_private_key(ec.SECP256R1())
NAME = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")])


def request_pem():
    request = x509.CertificateSigningRequestBuilder().subject_name(NAME).sign(KEY, hashes.SHA256())
    return base64.b64encode(request.public_bytes(Encoding.PEM)).decode()


def certificate_pem(days):
    start = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    builder = x509.CertificateBuilder(NAME, NAME, KEY.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(start).not_valid_after(start + datetime.timedelta(days=days))
    return base64.b64encode(builder.sign(KEY, hashes.SHA256()).public_bytes(Encoding.PEM)).decode()


def scrape(server):
    headers = {"Authorization": f"Bearer {server.token}", "Accept-Encoding": "gzip"}
    request = urllib.request.Request(server.url + "/metrics", headers=headers)
    with urllib.request.urlopen(request, context=server.ssl_context()) as answer:
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        assert answer.headers["content-encoding"] == "gzip"
        text = gzip.decompress(answer.read()).decode()
        started = int(answer.headers["process-start-time-unix"])
    found = dict(re.match(r"(.*) (\S+)$", line).groups() for line in text.splitlines() if not line.startswith("#"))
    assert int(float(found["process_start_time_seconds"])) == started
    return found


def test_what_a_client_did_is_counted():
    with Server() as server:
        for number in range(3):
            manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{number}"}}
            server.request("POST", "/api/v1/namespaces/default/configmaps", manifest)
        found = scrape(server)
    route = (
        'verb="POST",dry_run="",group="",version="v1",resource="configmaps",subresource="",scope="resource",'
        'component="apiserver"'
    )
    assert found[f'apiserver_request_total{{{route},code="201"}}'] == "3"
    assert found[f"apiserver_request_duration_seconds_count{{{route}}}"] == "3"
    # The fourth is the server's own, of token tracking.
    assert found['apiserver_storage_objects{resource="configmaps"}'] == "4"
    assert found['apiserver_storage_objects{resource="namespaces"}'] == "4"
    assert not [name for name in found if name.startswith("apiserver_storage_consistency_checks_total")]
    assert int(found['apiserver_watch_cache_resource_version{group="",resource="configmaps"}']) > 3
    assert found['apiserver_current_inflight_requests{request_kind="readOnly"}'] == "1"
    assert int(found['authentication_attempts{result="success"}']) >= 4


@pytest.mark.parametrize(
    ("accepted", "packed"),
    [("gzip, deflate", True), ("gzip;q=0", False), ("*", False), ("gzip;q=0.5, identity", False), ("", False)],
)
def test_an_answer_is_compressed_when_that_is_preferred(accepted, packed):
    assert prefers_gzip(accepted) is packed


def test_what_services_are_given_is_counted():
    with Server() as server:
        path = "/api/v1/namespaces/default/services"
        ports = [{"port": 80}]
        server.request("POST", path, {"metadata": {"name": "any"}, "spec": {"type": "NodePort", "ports": ports}})
        named = {"clusterIP": "10.0.0.9", "ports": [{"port": 80, "nodePort": 30001}], "type": "NodePort"}
        server.request("POST", path, {"metadata": {"name": "named"}, "spec": named})
        with pytest.raises(RequestFailed):
            server.request("POST", path, {"metadata": {"name": "again"}, "spec": named})
        named["clusterIP"] = ""
        with pytest.raises(RequestFailed):
            server.request("POST", path, {"metadata": {"name": "again"}, "spec": named})
        found = scrape(server)
    addresses, ports = "kube_apiserver_clusterip_allocator_", "kube_apiserver_nodeport_allocator_"
    network = 'cidr="10.0.0.0/24"'
    assert found[f"{addresses}allocated_ips{{{network}}}"] == "3"
    assert found[f"{addresses}available_ips{{{network}}}"] == "251"
    assert found[f'{addresses}allocation_total{{{network},scope="dynamic"}}'] == "2"
    assert found[f'{addresses}allocation_total{{{network},scope="static"}}'] == "2"
    assert found[f'{addresses}allocation_errors_total{{{network},scope="static"}}'] == "1"
    assert found[f"{addresses}allocation_duration_seconds_count{{{network}}}"] == "4"
    assert found[f"{ports}allocated_ports"] == "2"
    assert found[f"{ports}available_ports"] == "2766"
    assert found[f'{ports}allocation_total{{scope="dynamic"}}'] == "1"
    assert found[f'{ports}allocation_total{{scope="static"}}'] == "1"
    assert found[f'{ports}allocation_errors_total{{scope="static"}}'] == "1"


def test_certificates_that_last_as_long_as_was_asked_for_are_counted():
    path = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    with Server() as server:
        for name, signer, seconds, days in (("a", "kubernetes.io/kubelet-serving", 86400, 1), ("b", "x.y/z", 600, 1)):
            spec = {"request": request_pem(), "signerName": signer, "usages": ["digital signature", "server auth"]}
            server.request("POST", path, {"metadata": {"name": name}, "spec": {**spec, "expirationSeconds": seconds}})
            status = {"certificate": certificate_pem(days)}
            for _ in range(2):
                server.request("PATCH", f"{path}/{name}/status", {"status": status})
        found = scrape(server)
    counts = {name: value for name, value in found.items() if "certificates_registry" in name}
    assert counts == {
        'apiserver_certificates_registry_csr_requested_duration_total{signerName="kubernetes.io/kubelet-serving"}': "1",
        'apiserver_certificates_registry_csr_requested_duration_total{signerName="other"}': "1",
        'apiserver_certificates_registry_csr_honored_duration_total{signerName="kubernetes.io/kubelet-serving"}': "1",
    }


def test_deprecated_versions_that_clients_use_are_named():
    with Server() as server:
        server.request("GET", "/api/v1/namespaces/default/configmaps")
        server.request("GET", "/api/v1/namespaces/default/endpoints")
        found = scrape(server)
    used = [(name, value) for name, value in found.items() if name.startswith("apiserver_requested_deprecated_apis")]
    labels = 'group="",version="v1",resource="endpoints",subresource="",removed_release=""'
    assert used == [(f"apiserver_requested_deprecated_apis{{{labels}}}", "1")]


def test_paths_of_a_deprecated_version_that_lead_nowhere_do_not_count_as_used():
    version = {"name": "v1", "served": True, "storage": True, "deprecated": True}
    schema = {"openAPIV3Schema": {"type": "object"}}
    names = {"plural": "olds", "singular": "old", "kind": "Old", "listKind": "OldList"}
    spec = {"group": "x.test", "scope": "Cluster", "names": names, "versions": [{**version, "schema": schema}]}
    with Server() as server:
        definition = {"metadata": {"name": "olds.x.test"}, "spec": spec}
        server.request("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        path = "/apis/x.test/v1/olds"
        eventually(lambda: status(server, path) == 200)
        assert status(server, f"{path}/a/nothing") == 404
        found = scrape(server)
    used = [name for name in found if name.startswith("apiserver_requested_deprecated_apis")]
    labels = 'group="x.test",version="v1",resource="olds",subresource="",removed_release=""'
    assert used == [f"apiserver_requested_deprecated_apis{{{labels}}}"]


def test_the_release_that_has_a_deprecated_version_no_more_is_named():
    with Server(runtime_config=("apps/v1beta1=true",)) as server:
        server.request("GET", "/apis/apps/v1beta1/namespaces/default/deployments")
        found = scrape(server)
    labels = 'group="apps",version="v1beta1",resource="deployments",subresource="",removed_release="1.16"'
    assert found[f"apiserver_requested_deprecated_apis{{{labels}}}"] == "1"


def test_judgments_about_pods_are_counted():
    with Server() as server:
        labels = {"pod-security.kubernetes.io/enforce": "baseline"}
        server.request("POST", "/api/v1/namespaces", {"metadata": {"name": "judged", "labels": labels}})
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        server.request("POST", "/api/v1/namespaces/judged/pods", pod)
        server.request("POST", "/api/v1/namespaces/default/pods", pod)
        found = scrape(server)
    request = 'request_operation="create",resource="pod",subresource=""'
    policy = 'policy_level="baseline",policy_version="latest",mode="enforce"'
    assert found[f'pod_security_evaluations_total{{decision="allow",{policy},{request}}}'] == "1"
    policy = policy.replace("baseline", "privileged")
    for operation, count in (("create", "1"), ("update", "0")):
        about = request.replace("create", operation)
        assert found[f'pod_security_evaluations_total{{decision="allow",{policy},{about}}}'] == count
    assert found[f"pod_security_exemptions_total{{{request}}}"] == "0"

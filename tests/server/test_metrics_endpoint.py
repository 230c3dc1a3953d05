"""/metrics of a running server: what was done shows under kube-apiserver's names."""

import re
import time
import urllib.request

from watchkeeper.testing import Server
from watchkeeper.testing.handle import RequestFailed


def status(server, path):
    try:
        server.request("GET", path)
    except RequestFailed as refused:
        return refused.status
    return 200


def scrape(server):
    request = urllib.request.Request(server.url + "/metrics", headers={"Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request, context=server.ssl_context()) as answer:
        assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
        text = answer.read().decode()
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
        end = time.monotonic() + 10
        while status(server, path) != 200:
            assert time.monotonic() < end
            time.sleep(0.05)
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

"""Pods and volumes in errors: all fields of kube-apiserver's own form, in its order, by their names in Go."""

from typing import Any

import pytest
from kind_writer import created, pod, template, update

from watchkeeper.apis.core.go_fields import FIELDS
from watchkeeper.apis.core.go_form import go_form


def test_every_part_that_a_part_names_is_known() -> None:
    kinds = {text.rpartition(":")[2].lstrip("[*") for fields in FIELDS.values() for text in fields.split()}
    assert kinds - {"s", "i", "b", "{", "quantity", "selector", "metadata"} <= FIELDS.keys()
    for part in FIELDS:
        assert isinstance(go_form(None, part), dict)


def test_fields_that_are_not_set_show_as_empty() -> None:
    assert go_form({"containerPort": 80, "hostIP": "::"}, "ContainerPort") == {
        "Name": "",
        "HostPort": 0,
        "ContainerPort": 80,
        "Protocol": "",
        "HostIP": "::",
    }
    probe = go_form({"httpGet": {"port": "a"}}, "Probe")
    assert list(probe)[:2] == ["Exec", "HTTPGet"]
    assert probe["HTTPGet"] == {"Path": "", "Port": "a", "Host": "", "Scheme": "", "HTTPHeaders": None}
    assert probe["Exec"] is None
    disk = go_form({"diskURI": "u"}, "AzureDiskVolumeSource")
    assert disk["DataDiskURI"] == "u"
    assert disk["Kind"] is None


def test_metadata_shows_its_labels_and_selectors_show_as_they_are() -> None:
    shown = go_form({"metadata": {"labels": {"b": "1", "a": "2"}, "name": ""}, "spec": {}}, "PodTemplateSpec")
    assert list(shown) == ["labels", "Spec"]
    assert list(shown["labels"]) == ["a", "b"]
    selector = {"matchExpressions": [{"operator": "Exists", "key": "a"}], "matchLabels": {"x": "y"}}
    spec = go_form({"selector": selector, "resources": {"requests": {"storage": "1Gi"}}}, "PersistentVolumeClaimSpec")
    assert list(spec["Selector"]) == ["matchLabels", "matchExpressions"]
    assert spec["Resources"] == {"Limits": None, "Requests": {"storage": "1Gi"}}


def test_what_a_pod_shares_with_its_host_is_in_its_security_context() -> None:
    context = go_form({"hostNetwork": True, "securityContext": {"runAsUser": 1}}, "PodSpec")["SecurityContext"]
    assert context["HostNetwork"] is True
    assert context["HostPID"] is False
    assert context["HostUsers"] is None
    assert context["RunAsUser"] == 1


def test_a_refused_change_of_a_pod_shows_what_changed() -> None:
    old = created(pod())
    told = update(old, {**old, "spec": {**old["spec"], "hostname": "h"}}).errors
    assert told[0].startswith("spec: Forbidden: pod updates may not change fields other than ")
    assert "InitContainers" not in update(old, pod(hostname="h", initContainers=[])).errors[0]
    assert "\n-" + ' "Hostname": "",' + "\n+" + ' "Hostname": "h",\n' in told[0]


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/x"}}


@pytest.mark.parametrize(
    ("kind", "spec", "change", "lines"),
    [
        (
            "PersistentVolumeClaim",
            CLAIM,
            {"storageClassName": "b"},
            ['- "StorageClassName": "a",', '+ "StorageClassName": "b",', '  "VolumeMode": "Filesystem",'],
        ),
        ("PersistentVolume", VOLUME, {"hostPath": {"path": "/y"}}, ['-  "Path": "/x",', '+  "Path": "/y",']),
    ],
)
def test_a_refused_change_of_a_volume_shows_what_changed(kind: str, spec: Any, change: Any, lines: list[str]) -> None:
    spec = {**spec, "storageClassName": "a"}
    old = created({"apiVersion": "v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec})
    told = update(old, {**old, "spec": {**old["spec"], **change}}).errors
    shown = told[0].split("\n")
    assert [line for line in lines if line not in shown] == []


def test_a_refused_change_of_a_jobs_template_shows_the_new_one() -> None:
    spec = {"template": template(restartPolicy="Never")}
    old = created({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, "spec": spec})
    metadata = {**old["spec"]["template"]["metadata"], "deletionGracePeriodSeconds": 0}
    pods = {"metadata": metadata, "spec": {**old["spec"]["template"]["spec"], "hostname": "h"}}
    told = update(old, {**old, "spec": {**old["spec"], "template": pods}}).errors
    assert told[0].startswith('spec.template: Invalid value: {"deletionGracePeriodSeconds":0,"labels":{"app":"x",')
    assert '"Spec":{"Volumes":null,"InitContainers":null,"Containers":[{"Name":"main","Image":"img:1",' in told[0]
    assert told[0].endswith(": field is immutable")

"""kubectl get: every form of output, selectors, pages, sorting, watching."""

from __future__ import annotations

import json

import pytest
from kubectl_runner import Kubectl, rows

pytestmark = pytest.mark.kubectl

MAPS = """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {tier: edge, team: x}}, data: {size: "3"}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, labels: {tier: edge}}, data: {size: "1"}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {size: "2", more: "4"}}
"""


@pytest.fixture
def maps(kubectl: Kubectl) -> Kubectl:
    assert kubectl("create -f -", MAPS) == "configmap/a created\nconfigmap/b created\nconfigmap/c created\n"
    return kubectl


def test_every_form_of_output_shows_the_objects(maps: Kubectl) -> None:
    assert rows(maps("get cm")) == [["NAME", "DATA"], ["a", "1"], ["b", "1"], ["c", "2"]]
    assert rows(maps("get cm -o wide --no-headers")) == [["a", "1"], ["b", "1"], ["c", "2"]]
    assert maps("get cm -o name") == "configmap/a\nconfigmap/b\nconfigmap/c\n"
    assert maps("get cm -o jsonpath='{.items[*].data.size}'") == "3 1 2"
    assert maps("get cm -o jsonpath-as-json='{.items[?(@.metadata.name==\"c\")].data}'").split() == [
        "[", "{", '"more":', '"4",', '"size":', '"2"', "}", "]"
    ]  # fmt: skip
    template = "{{range .items}}{{.metadata.name}}={{.data.size}};{{end}}"
    assert maps(f"get cm -o go-template='{template}'") == "a=3;b=1;c=2;"
    assert maps("get cm a -o custom-columns=N:.metadata.name,S:.data.size,X:.nope").split() == [
        "N", "S", "X", "a", "3", "<none>"
    ]  # fmt: skip
    found = json.loads(maps("get cm -o json"))
    assert (found["apiVersion"], found["kind"], found["metadata"]) == ("v1", "List", {"resourceVersion": ""})
    assert [item["kind"] for item in found["items"]] == ["ConfigMap"] * 3
    as_yaml = maps("get cm b -o yaml")
    assert 'data:\n  size: "1"\nkind: ConfigMap\n' in as_yaml
    assert "managedFields" not in as_yaml
    assert "manager: kubectl-create" in maps("get cm b -o yaml --show-managed-fields")
    assert maps("get cm b -o kyaml").startswith('---\n{\n  apiVersion: "v1",\n')


def test_labels_and_kinds_are_shown_as_columns(maps: Kubectl) -> None:
    wide = [line.split() for line in maps("get cm -L tier,team").splitlines()]
    assert wide[0] == ["NAME", "DATA", "AGE", "TIER", "TEAM"]
    assert [wide[1][0], *wide[1][3:]] == ["a", "edge", "x"]
    shown = maps("get cm --show-labels --show-kind").splitlines()
    assert shown[0].split() == ["NAME", "DATA", "AGE", "LABELS"]
    assert shown[1].split()[0] == "configmap/a"
    assert [line.split()[-1] for line in shown[1:]] == ["team=x,tier=edge", "tier=edge", "<none>"]


def test_selectors_leave_out_what_does_not_match(maps: Kubectl) -> None:
    assert maps("get cm -l tier=edge -o name") == "configmap/a\nconfigmap/b\n"
    assert maps("get cm -l 'tier in (edge, core),!team' -o name") == "configmap/b\n"
    assert maps("get cm --field-selector metadata.name!=a -o name") == "configmap/b\nconfigmap/c\n"
    everywhere = maps(f"get cm -A --field-selector metadata.namespace={maps.namespace},metadata.name=c")
    assert rows(everywhere) == [["NAMESPACE", "NAME", "DATA"], [maps.namespace, "c", "2"]]
    wrong = maps.fails("get cm --field-selector nope=1")
    assert wrong.startswith('Error from server (BadRequest): Unable to find "/v1, Resource=configmaps"')
    assert wrong.endswith('"nope" is not a known field selector: only "metadata.name", "metadata.namespace"\n')
    assert "field label not supported: nope" in maps.fails("get pods --field-selector nope=1")
    assert "unable to parse requirement: found 'b' expected: '('" in maps.fails("get cm -l 'a in b'")


def test_pages_and_sorting_show_all_objects(maps: Kubectl) -> None:
    assert maps("get cm --chunk-size=1 -o name") == "configmap/a\nconfigmap/b\nconfigmap/c\n"
    assert [row[0] for row in rows(maps("get cm --chunk-size=2 --no-headers"))] == ["a", "b", "c"]
    assert [row[0] for row in rows(maps("get cm --sort-by .data.size --no-headers"))] == ["b", "c", "a"]


def test_several_kinds_and_names_are_shown_together(maps: Kubectl) -> None:
    maps("create secret generic s --from-literal=k=v")
    table = maps("get cm/a secret/s")
    assert table.split()[:3] == ["NAME", "DATA", "AGE"]
    assert [line.split()[0] for line in table.splitlines() if "/" in line] == ["configmap/a", "secret/s"]
    assert [line.split()[0] for line in maps("get cm,secrets --no-headers").splitlines() if line] == [
        "configmap/a", "configmap/b", "configmap/c", "secret/s"
    ]  # fmt: skip
    assert maps("get -f - -o name", MAPS) == "configmap/a\nconfigmap/b\nconfigmap/c\n"
    assert maps("get configmaps.v1. a -o name") == "configmap/a\n"
    assert maps("get hpa.v1.autoscaling --ignore-not-found") == ""


def test_what_is_not_there_is_said_so(kubectl: Kubectl) -> None:
    missing = 'Error from server (NotFound): configmaps "{}" not found\n'
    assert kubectl.fails("get cm x y") == missing.format("x") + missing.format("y")
    assert kubectl("get cm x --ignore-not-found") == ""
    assert kubectl.warns("get deploy") == ("", f"No resources found in {kubectl.namespace} namespace.\n")
    assert kubectl.warns("get pods -A -l nobody=has-this") == ("", "No resources found\n")
    assert kubectl.fails("get nosuch") == 'error: the server doesn\'t have a resource type "nosuch"\n'
    assert kubectl.fails("get --raw /nothing").startswith("Error from server (NotFound)")


def test_subresources_are_shown_as_what_they_are(kubectl: Kubectl) -> None:
    kubectl("create deployment web --image=web:1 --replicas=3")
    assert rows(kubectl("get deploy web --subresource=scale")) == [["NAME", "DESIRED", "AVAILABLE"], ["web", "3", "0"]]
    assert rows(kubectl("get deploy web --subresource=status"))[1] == ["web", "0/3", "0", "0"]
    scale = json.loads(kubectl("get deploy web --subresource=scale -o json"))
    assert (scale["kind"], scale["spec"], scale["status"]) == (
        "Scale", {"replicas": 3}, {"replicas": 0, "selector": "app=web"}
    )  # fmt: skip


def test_watching_shows_changes_as_they_come(maps: Kubectl) -> None:
    with (
        maps.running("get cm -w --output-watch-events") as table,
        maps.running("get cm --watch-only -o name") as names,
        maps.running("get cm a -w -o jsonpath='{.data.size} '") as one,
    ):
        assert table.stdout is not None
        assert names.stdout is not None
        assert one.stdout is not None
        assert table.stdout.readline().split() == ["EVENT", "NAME", "DATA", "AGE"]
        assert [table.stdout.readline().split()[:2] for _ in range(3)] == [["ADDED", name] for name in "abc"]
        assert one.stdout.read(2) == "3 "
        maps('patch cm a -p \'{"data":{"size":"7"}}\'')
        assert one.stdout.read(2) == "7 "
        maps("delete cm b")
        assert table.stdout.readline().split()[:3] == ["MODIFIED", "a", "1"]
        assert table.stdout.readline().split()[:2] == ["DELETED", "b"]
        assert names.stdout.readline() == "configmap/a\n"
    # The server ends a watch in time, and kubectl says nothing about it.
    assert [row[0] for row in rows(maps("get cm -w --request-timeout=2s"))] == ["NAME", "a", "c"]

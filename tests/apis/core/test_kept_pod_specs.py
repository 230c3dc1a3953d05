"""What updates of Pods and templates may leave as it was, although a new one could not have it."""

from __future__ import annotations

from typing import Any

import pytest
from kind_writer import create, created, pod, read, template, update

LABELS = {"app": "x"}
SPREAD = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
KEPT = [
    {"hostUsers": False, "hostNetwork": True},
    {
        "hostUsers": False,
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
        "containers": [{"name": "c", "image": "i", "volumeDevices": [{"name": "v", "devicePath": "/dev/x"}]}],
    },
    {"tolerations": [{"key": "k", "operator": "Gt", "value": "5"}]},
    {"topologySpreadConstraints": [{**SPREAD, "matchLabelKeys": ["app"]}]},
    {"overhead": {"cpu": "1", "hugepages-2Mi": "3Mi"}},
    {"securityContext": {"seLinuxChangePolicy": "MountOption"}},
]


def deployment(name: str = "a", **spec: Any) -> Any:
    keeping = {"selector": {"matchLabels": LABELS}, "template": template(**spec)}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": keeping}


def stored(body: Any, **spec: Any) -> Any:
    """An object in whose pod spec something stands that an older server has let in."""
    obj = created(body)
    holder = obj if obj["kind"] == "Pod" else obj["spec"]["template"]
    holder["spec"] = {**holder["spec"], **spec}
    return read(obj)


@pytest.mark.parametrize("spec", KEPT)
@pytest.mark.parametrize("kind", [pod, deployment])
def test_a_stored_spec_may_keep_what_a_new_one_cannot_have(kind: Any, spec: Any) -> None:
    assert create(kind(**spec)).errors
    old = stored(kind(), **spec)
    labeled = {**old, "metadata": {**old["metadata"], "labels": {"changed": "yes"}}}
    assert update(old, labeled).errors == []


def test_numbers_that_kept_tolerations_compare_with_are_numbers() -> None:
    old = stored(deployment(), tolerations=[{"key": "k", "operator": "Gt", "value": "5"}])
    new = deployment(tolerations=[{"key": "k", "operator": "Lt", "value": value} for value in ("-7", "07", "")])
    at = "spec.template.spec.tolerations"
    assert update(old, new).errors == [
        f'{at}[1].value: Invalid value: "07": must be a valid decimal integer in canonical form',
        f'{at}[2].value: Invalid value: "": must be non-empty',
        f'{at}[2].value: Invalid value: "": strconv.ParseInt: parsing "": invalid syntax',
    ]


def test_a_template_that_says_how_volumes_are_labeled_may_say_another_way() -> None:
    every = deployment(securityContext={"seLinuxChangePolicy": "Recursive"})
    mounted = deployment(securityContext={"seLinuxChangePolicy": "MountOption"})
    assert create(mounted).errors == [
        "spec.template.spec.securityContext.seLinuxChangePolicy: "
        'Unsupported value: "MountOption": supported values: "Recursive"'
    ]
    assert update(created(every), mounted).errors == []
    assert update(created(deployment()), mounted).errors == create(mounted).errors
    odd = deployment(securityContext={"seLinuxChangePolicy": "Odd"})
    assert update(created(every), odd).errors == [
        "spec.template.spec.securityContext.seLinuxChangePolicy: "
        'Unsupported value: "Odd": supported values: "MountOption", "Recursive"'
    ]


def test_own_users_on_the_network_of_the_host_still_keep_out_of_its_processes() -> None:
    old = stored(deployment(), hostUsers=False, hostNetwork=True)
    body = deployment(hostUsers=False, hostNetwork=True, hostPID=True)
    assert update(old, body).errors == ["spec.template.spec.HostPID: Forbidden: when `hostUsers` is false"]

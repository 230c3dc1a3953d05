"""The Pod Security Standards, in the reference's words."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from watchkeeper.admission.interface import Attributes, Operation
from watchkeeper.admission.podsecurity.level import Level, LevelVersion, read_policy
from watchkeeper.admission.podsecurity.metrics import Labels, PodSecurityMetrics
from watchkeeper.admission.podsecurity.plugin import PodSecurity
from watchkeeper.admission.podsecurity.standards import checks_of, in_detail, violations
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.gvk import GroupVersionKind, GroupVersionResource
from watchkeeper.request.user import User

Object = dict[str, Any]
P = "pod-security.kubernetes.io/"
BASELINE, RESTRICTED = LevelVersion(Level.BASELINE), LevelVersion(Level.RESTRICTED)
GOOD = {
    "allowPrivilegeEscalation": False,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}


def pod(context: Object | None = None, **spec: Any) -> Object:
    container = {"name": "c", "image": "i", **({"securityContext": context} if context is not None else {})}
    return {"metadata": {"name": "p"}, "spec": {"containers": [container], **spec}}


def broken(wanted: LevelVersion, obj: Object) -> str:
    return in_detail(violations(wanted, obj["metadata"], obj["spec"]))


def test_a_bare_pod_is_in_order_for_the_baseline_and_not_for_the_restricted_level() -> None:
    assert broken(BASELINE, pod()) == ""
    assert broken(RESTRICTED, pod()) == (
        'allowPrivilegeEscalation != false (container "c" must set securityContext.allowPrivilegeEscalation=false), '
        'unrestricted capabilities (container "c" must set securityContext.capabilities.drop=["ALL"]), '
        'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true), '
        'seccompProfile (pod or container "c" must set securityContext.seccompProfile.type to "RuntimeDefault" or '
        '"Localhost")'
    )
    assert broken(RESTRICTED, pod(GOOD)) == ""


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (pod({"privileged": True}), 'privileged (container "c" must not set securityContext.privileged=true)'),
        (pod(hostNetwork=True, hostIPC=True), "host namespaces (hostNetwork=true, hostIPC=true)"),
        (
            pod(volumes=[{"name": "a", "hostPath": {}}, {"name": "b", "hostPath": {}}]),
            'hostPath volumes (volumes "a", "b")',
        ),
        (
            {
                "metadata": {},
                "spec": {"containers": [{"name": "c", "ports": [{"hostPort": 80}, {"hostPort": 443}, {}]}]},
            },
            'hostPort (container "c" uses hostPorts 443, 80)',
        ),
        (
            {
                "metadata": {},
                "spec": {"containers": [{"name": "c", "livenessProbe": {"httpGet": {"host": "10.0.0.1"}}}]},
            },
            'probe or lifecycle host (container "c" uses probe or lifecycle host "10.0.0.1")',
        ),
        (
            pod({"capabilities": {"add": ["KILL", "NET_RAW"]}}),
            'non-default capabilities (container "c" must not include "NET_RAW" in securityContext.capabilities.add)',
        ),
        (
            pod({"seccompProfile": {"type": "Unconfined"}}, securityContext={"seccompProfile": {"type": "Unconfined"}}),
            'seccompProfile (pod and container "c" must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
        (
            pod({"appArmorProfile": {"type": "Unconfined"}}),
            'forbidden AppArmor profile (container "c" must not set AppArmor profile type to "Unconfined")',
        ),
        (
            pod({"seLinuxOptions": {"type": "spc_t", "user": "root"}}),
            'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: type "spc_t"; '
            "user may not be set)",
        ),
        (
            pod({"procMount": "Unmasked"}),
            'procMount (container "c" must not set securityContext.procMount to "Unmasked")',
        ),
        (
            pod(securityContext={"sysctls": [{"name": "kernel.msgmax"}, {"name": "net.ipv4.tcp_rmem"}]}),
            "forbidden sysctls (kernel.msgmax)",
        ),
        (
            pod(securityContext={"windowsOptions": {"hostProcess": True}}),
            "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
        ),
    ],
)
def test_the_baseline_forbids(obj: Object, words: str) -> None:
    assert broken(BASELINE, obj) == words


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (
            pod({**GOOD, "capabilities": {"drop": ["ALL"], "add": ["KILL"]}}),
            'unrestricted capabilities (container "c" must not include "KILL" in securityContext.capabilities.add)',
        ),
        (
            pod(GOOD, volumes=[{"name": "v", "nfs": {}}, {"name": "e", "emptyDir": {}}]),
            'restricted volume types (volume "v" uses restricted volume type "nfs")',
        ),
        (
            pod({**GOOD, "runAsNonRoot": False}),
            'runAsNonRoot != true (container "c" must not set securityContext.runAsNonRoot=false)',
        ),
        (pod({**GOOD, "runAsUser": 0}), 'runAsUser=0 (container "c" must not set runAsUser=0)'),
        (pod({**GOOD, "runAsUser": 0, "runAsNonRoot": False}, hostUsers=False), ""),
        (pod({"runAsNonRoot": True}, os={"name": "windows"}), ""),
    ],
)
def test_the_restricted_level_forbids_besides(obj: Object, words: str) -> None:
    assert broken(RESTRICTED, obj) == words


def test_a_version_has_the_checks_of_its_time() -> None:
    old = LevelVersion(Level.BASELINE, 24)
    rule = pod(securityContext={"sysctls": [{"name": "net.ipv4.tcp_rmem"}]})
    assert broken(old, rule) == "forbidden sysctls (net.ipv4.tcp_rmem)"
    assert broken(LevelVersion(Level.BASELINE, 99), rule) == ""
    assert len(checks_of(Level.RESTRICTED, 0)) < len(checks_of(Level.RESTRICTED, 35))
    assert checks_of(Level.PRIVILEGED, 35) == ()


def test_labels_ask_for_levels_and_versions() -> None:
    policy, errors = read_policy({f"{P}enforce": "baseline", f"{P}enforce-version": "v1.30", f"{P}audit": "restricted"})
    assert [str(mode) for mode in (policy.enforce, policy.audit, policy.warn)] == [
        "baseline:v1.30",
        "restricted:latest",
        "baseline:v1.30",
    ]
    assert errors == []
    policy, errors = read_policy({f"{P}enforce": "strict", f"{P}warn": "x", f"{P}audit-version": "1.2"})
    assert [str(mode) for mode in (policy.enforce, policy.audit, policy.warn)] == [
        "restricted:latest",
        "privileged:latest",
        "privileged:latest",
    ]
    assert [str(error) for error in errors] == [
        f'metadata.labels[{P}enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted',
        f'metadata.labels[{P}audit-version]: Invalid value: "1.2": must be "latest" or "v1.x"',
        f'metadata.labels[{P}warn]: Invalid value: "x": must be one of privileged, baseline, restricted',
    ]


class Asking:
    """A request to a namespace with some labels, and what comes of it."""

    def __init__(self, labels: dict[str, str], pods: list[Object] | None = None) -> None:
        self.warnings: list[str] = []
        self.annotations: dict[str, str] = {}
        self.labels = {P + key: value for key, value in labels.items()}
        self.pods = pods or []
        self.metrics = PodSecurityMetrics()

    def ask(self, obj: Object, resource: str = "pods", group: str = "", kind: str = "Pod", **more: Any) -> str:
        """Why it is refused, "" when it is not."""
        given: dict[str, Any] = {"operation": Operation.CREATE, **more}
        attributes = Attributes(
            kind=GroupVersionKind(group, "v1", kind),
            resource=GroupVersionResource(group, "v1", resource),
            namespace="web",
            name="p",
            user=User("u"),
            obj=obj,
            options={},
            warn=self.warnings.append,
            annotate=self._annotate,
            **given,
        )

        async def pods(_namespace: str) -> list[Object]:
            return self.pods

        async def run() -> str:
            try:
                waiting = PodSecurity(lambda _namespace: self.labels, pods, self.metrics).validate(attributes)
                if waiting is not None:
                    await waiting
            except ApiError as error:
                return error.message
            return ""

        return asyncio.run(run())

    def _annotate(self, key: str, value: str, level: str = "Metadata") -> None:
        self.annotations[key.removeprefix(P)] = value


def counted(counts: Iterable[tuple[Labels, int]]) -> list[str]:
    """What was counted, as the values of labels."""
    return sorted(f"{' '.join(value or '-' for _, value in labels)}: {count}" for labels, count in counts if count)


def test_judgments_are_counted_by_level_version_and_mode() -> None:
    asking = Asking({"enforce": "baseline", "enforce-version": "v1.30", "warn": "restricted"})
    asking.ask(pod(hostPID=True))
    asking.ask(pod())
    template = {"metadata": {}, "spec": {"template": pod()}}
    asking.ask(template, "deployments", "apps", "Deployment", operation=Operation.UPDATE, old=template)
    assert counted(asking.metrics.evaluations()) == [
        "allow baseline v1.30 enforce create pod -: 1",
        "deny baseline v1.30 enforce create pod -: 1",
        "deny restricted latest warn create pod -: 1",
        "deny restricted latest warn update controller -: 1",
    ]
    assert counted(asking.metrics.errors()) == []


def test_judgments_by_nothing_the_future_and_a_riddle_are_counted() -> None:
    privileged = Asking({})
    privileged.ask(pod())
    assert counted(privileged.metrics.evaluations()) == ["allow privileged latest enforce create pod -: 1"]
    future = Asking({"enforce": "baseline", "enforce-version": "v1.99"})
    future.ask(pod())
    assert counted(future.metrics.evaluations()) == ["allow baseline future enforce create pod -: 1"]
    riddle = Asking({"enforce": "privileged", "warn": "x"})
    riddle.ask(pod())
    assert counted(riddle.metrics.errors()) == ["false create pod -: 1"]


def test_what_breaks_the_enforced_level_is_refused_and_not_warned_of() -> None:
    asking = Asking({"enforce": "baseline", "warn": "restricted"})
    assert asking.ask(pod(hostPID=True)) == (
        'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)'
    )
    assert asking.warnings == []
    assert asking.annotations == {"enforce-policy": "baseline:latest"}
    assert asking.ask(pod()) == ""
    assert asking.warnings[0].startswith('would violate PodSecurity "restricted:latest": allowPrivilegeEscalation')


def test_what_pods_are_made_of_is_warned_of_and_never_refused() -> None:
    asking = Asking({"enforce": "restricted", "audit": "baseline"})
    deployment = {"metadata": {"name": "d"}, "spec": {"template": pod(hostPID=True)}}
    assert asking.ask(deployment, "deployments", "apps", "Deployment") == ""
    assert asking.warnings[0].startswith('would violate PodSecurity "restricted:latest": host namespaces')
    assert asking.annotations == {
        "audit-violations": 'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)'
    }


def test_updates_that_change_no_image_are_left_alone() -> None:
    asking = Asking({"enforce": "baseline"})
    bad = pod(hostPID=True)
    assert asking.ask(bad, operation=Operation.UPDATE, old=pod(hostPID=True)) == ""
    assert asking.ask(bad, subresource="status", operation=Operation.UPDATE, old=pod()) == ""
    other = pod(hostPID=True)
    other["spec"]["containers"][0]["image"] = "j"
    assert asking.ask(bad, operation=Operation.UPDATE, old=other) != ""


def test_a_namespace_that_gets_stricter_tells_of_the_pods_that_it_has() -> None:
    pods = [{**pod(hostPID=True), "metadata": {"name": name}} for name in ("b", "a")]
    asking = Asking({}, [*pods, {**pod({"privileged": True}), "metadata": {"name": "c"}}])

    def namespace(**labels: str) -> Object:
        return {"metadata": {"name": "p", "labels": {P + key: value for key, value in labels.items()}}}

    def change(new: Object, old: Object) -> str:
        return asking.ask(new, "namespaces", "", "Namespace", operation=Operation.UPDATE, old=old)

    assert change(namespace(enforce="baseline"), namespace()) == ""
    assert asking.warnings == [
        'existing pods in namespace "p" violate the new PodSecurity enforce level "baseline:latest"',
        "a (and 1 other pod): host namespaces",
        "c: privileged",
    ]
    asking.warnings.clear()
    assert change(namespace(enforce="baseline"), namespace(enforce="restricted")) == ""
    assert asking.warnings == []
    wrong = change(namespace(enforce="bad"), namespace())
    assert wrong.startswith(f'Namespace "p" is invalid: metadata.labels[{P}enforce]: Invalid value: "bad"')
    assert change(namespace(enforce="bad"), namespace(enforce="bad")) == ""

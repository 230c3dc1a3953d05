"""How Pods print."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from watchkeeper.apis import printing
from watchkeeper.apis.behavior import Column, TableSpec
from watchkeeper.apis.core.pod_resources import is_restartable_init

Object = dict[str, Any]
Status = Mapping[str, Any]

_RESTARTS = (
    "The number of times the containers in this pod have been restarted "
    "and when the last container in this pod has restarted."
)
COLUMNS = (
    printing.NAME,
    Column("Ready", "string", "The aggregate readiness state of this pod for accepting traffic."),
    Column("Status", "string", "The aggregate status of the containers in this pod."),
    Column("Restarts", "string", _RESTARTS),
    printing.AGE,
    Column("IP", "string", "The address of the pod.", priority=1),
    Column("Node", "string", "The node that the pod is bound to.", priority=1),
    Column("Nominated Node", "string", "The node that the pod may be bound to after preemption.", priority=1),
    Column("Readiness Gates", "string", "How many of the pod's own readiness conditions are true.", priority=1),
)
_CONDITIONS = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


def _conditions(pod: Object) -> list[dict[str, Any]] | None:
    phase = (pod.get("status") or {}).get("phase")
    if phase not in _CONDITIONS:
        return None
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _CONDITIONS[phase]}]


class _Summary:
    """What a Pod's container statuses say together: a reason, how many are ready, how often they restarted."""

    def __init__(self, pod: Object) -> None:
        self.spec: Status = pod.get("spec") or {}
        self.status: Status = pod.get("status") or {}
        self.conditions: Sequence[Status] = self.status.get("conditions") or ()
        self.ready = 0
        self.restarts = 0
        self.last_restart = 0.0
        self.sidecar_restarts = 0
        self.last_sidecar_restart = 0.0
        self.reason: str = self.status.get("reason") or self.status.get("phase") or ""
        init = {container.get("name"): container for container in self.spec.get("initContainers") or ()}
        self.sidecars = {name for name, container in init.items() if is_restartable_init(container)}
        self.total = len(self.spec.get("containers") or ()) + len(self.sidecars)
        if any(c.get("type") == "PodScheduled" and c.get("reason") == "SchedulingGated" for c in self.conditions):
            self.reason = "SchedulingGated"
        self._read_statuses()
        self._read_deletion(pod)

    def _read_statuses(self) -> None:
        initializing = self._read_init_containers()
        if not initializing or self._is_true("Initialized"):
            self._read_containers()

    def _is_true(self, condition_type: str) -> bool:
        return printing.has_condition(self.conditions, condition_type)

    def _note_restarts(self, container: Status) -> None:
        self.restarts += container.get("restartCount") or 0
        self.last_restart = max(self.last_restart, _last_end(container))

    def _read_init_containers(self) -> bool:
        """Whether initialization is under way or has failed; restarts count those of all init containers then."""
        total = len(self.spec.get("initContainers") or ())
        for i, container in enumerate(self.status.get("initContainerStatuses") or ()):
            self._note_restarts(container)
            if container.get("name") in self.sidecars:
                self.sidecar_restarts += container.get("restartCount") or 0
                self.last_sidecar_restart = max(self.last_sidecar_restart, _last_end(container))
            state = container.get("state") or {}
            ended, waiting = state.get("terminated"), state.get("waiting") or {}
            if ended is not None and not ended.get("exitCode"):
                continue
            if container.get("name") in self.sidecars and container.get("started"):
                self.ready += 1 if container.get("ready") else 0
                continue
            if ended is not None:
                self.reason = "Init:" + _end_reason(ended)
            elif waiting.get("reason") and waiting["reason"] != "PodInitializing":
                self.reason = "Init:" + waiting["reason"]
            else:
                self.reason = f"Init:{i}/{total}"
            return True
        return False

    def _read_containers(self) -> None:
        """Restarts count those of the sidecars that were looked at and of all containers then."""
        self.restarts, self.last_restart = self.sidecar_restarts, self.last_sidecar_restart
        running = False
        failure = ""
        for container in reversed(self.status.get("containerStatuses") or ()):
            self._note_restarts(container)
            state = container.get("state") or {}
            waiting, ended = state.get("waiting") or {}, state.get("terminated")
            if waiting.get("reason"):
                self.reason = waiting["reason"]
            elif ended is not None:
                self.reason = _end_reason(ended)
                failure = self.reason if ended.get("exitCode") else failure
            elif container.get("ready") and state.get("running") is not None:
                running = True
                self.ready += 1
        if self.reason == "Completed":
            if running and self._is_true("Ready"):
                self.reason = "Running"
            elif failure:
                self.reason = failure
            elif running:
                self.reason = "NotReady"

    def _read_deletion(self, pod: Object) -> None:
        if not pod["metadata"].get("deletionTimestamp"):
            return
        if self.status.get("reason") == "NodeLost":
            self.reason = "Unknown"
        elif self.status.get("phase") not in ("Succeeded", "Failed"):
            self.reason = "Terminating"


def _last_end(container: Status) -> float:
    ended = (container.get("lastState") or {}).get("terminated") or {}
    return printing.parse_time(ended["finishedAt"]) if ended.get("finishedAt") else 0.0


def _end_reason(ended: Status) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    if ended.get("signal"):
        return f"Signal:{ended['signal']}"
    return f"ExitCode:{ended.get('exitCode') or 0}"


def _cells(pod: Object, now: float) -> list[Any]:
    summary = _Summary(pod)
    restarts = str(summary.restarts)
    if summary.restarts and summary.last_restart:
        restarts = f"{restarts} ({printing.human_duration(now - summary.last_restart)} ago)"
    addresses = summary.status.get("podIPs") or ()
    return [
        printing.name_of(pod),
        f"{summary.ready}/{summary.total}",
        summary.reason,
        restarts,
        printing.age(pod, now),
        (addresses[0].get("ip") if addresses else "") or printing.NONE,
        summary.spec.get("nodeName") or printing.NONE,
        summary.status.get("nominatedNodeName") or printing.NONE,
        _gates(summary),
    ]


def _gates(summary: _Summary) -> str:
    gates = summary.spec.get("readinessGates") or ()
    if not gates:
        return printing.NONE
    true = sum(printing.has_condition(summary.conditions, gate.get("conditionType") or "") for gate in gates)
    return f"{true}/{len(gates)}"


TABLE = TableSpec(columns=COLUMNS, cells=_cells, conditions=_conditions)

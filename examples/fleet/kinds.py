"""The kinds: a Fleet wants so many GameServers of one sort."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from watchkeeper.kinds import Column, FieldError, Registry, forbidden

GROUP_VERSION = "fleet.example.com/v1"

registry = Registry()


@dataclass
class GameServerStatus:
    """What has become of a server."""

    phase: Literal["Starting", "Ready"] = "Starting"
    port: int = 0


@registry.kind(
    GROUP_VERSION,
    status=GameServerStatus,
    short_names=["gs"],
    columns=[Column("Map", ".spec.map"), Column("Phase", ".status.phase"), Column("Port", ".status.port", "integer")],
)
@dataclass
class GameServer:
    """One server that players join."""

    map: str
    slots: Annotated[int, {"minimum": 1, "maximum": 64}] = 16


@dataclass
class FleetStatus:
    """How far the controller has come."""

    replicas: int = 0
    ready: int = 0


class FleetStrategy:
    """What the schema of a Fleet cannot say."""

    def validate_update(self, obj: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
        """Running games cannot move to another map."""
        if obj["spec"]["map"] != old["spec"]["map"]:
            return [forbidden("spec.map", "cannot change while there are servers: make another fleet")]
        return []


@registry.kind(
    GROUP_VERSION,
    status=FleetStatus,
    scale={"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"},
    columns=[
        Column("Map", ".spec.map"),
        Column("Wanted", ".spec.replicas", "integer"),
        Column("Ready", ".status.ready", "integer"),
    ],
    strategy=FleetStrategy(),
)
@dataclass
class Fleet:
    """So many servers of one sort."""

    map: Literal["harbor", "desert", "castle"]
    replicas: Annotated[int, {"minimum": 0, "maximum": 100}] = 1
    slots: int = 16

"""An etcd that answers, but refuses: clients read in its own words why."""

import asyncio
import json
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from aetcd.rpc import rpc_pb2, rpc_pb2_grpc

from watchkeeper.kv.etcd import EtcdConfig
from watchkeeper.kv.etcd.members import connect
from watchkeeper.testing.etcd import EtcdCluster, find_etcd, running_cluster
from watchkeeper.testing.etcd_shared import run
from watchkeeper.testing.handle import Handle
from watchkeeper.testing.server_process import ServerProcess

pytestmark = [
    pytest.mark.etcd,
    pytest.mark.skipif(find_etcd() is None, reason="there is no etcd here"),
]

Object = dict[str, Any]
MAPS = "/api/v1/namespaces/default/configmaps"


def serve(cluster: EtcdCluster) -> ServerProcess:
    return ServerProcess(storage="etcd://" + cluster.urls[0].removeprefix("http://"), insecure_http=True)


def ask(server: Handle, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    request = urllib.request.Request(server.url + path, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def config_map(name: str, size: int, letter: str = "x") -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": letter * size}}


def refusal(words: str) -> tuple[int, Object]:
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": words, "code": 500}
    return 500, status


async def make_room(cluster: EtcdCluster, start: bytes, end: bytes) -> None:
    """What an operator does: delete keys, forget history, give the space back, take the alarm off.

    The keys are deleted in etcd itself: how many objects fit before it is full depends on when it commits, and earlier
    releases refuse the transactions that API servers delete by, so that a database of current values alone may stay
    over the quota. A plain DeleteRange is let through by all.
    """
    (member,) = connect(EtcdConfig(cluster.urls))
    maintenance: Any = rpc_pb2_grpc.MaintenanceStub(member._channel)
    keys: Any = rpc_pb2_grpc.KVStub(member._channel)
    revision = (await keys.DeleteRange(rpc_pb2.DeleteRangeRequest(key=start, range_end=end))).header.revision
    await member.compact(rpc_pb2.CompactionRequest(revision=revision, physical=True))
    await maintenance.Defragment(rpc_pb2.DefragmentRequest())
    request = rpc_pb2.AlarmRequest
    for alarm in (await maintenance.Alarm(request(action=request.GET))).alarms:
        await maintenance.Alarm(request(action=request.DEACTIVATE, memberID=alarm.memberID, alarm=alarm.alarm))
    await member.close()


def test_a_full_etcd_still_reads_and_says_why_it_does_not_write(tmp_path: Path) -> None:
    with running_cluster(tmp_path, flags=["--quota-backend-bytes=8388608"]) as cluster, serve(cluster) as server:
        stored: list[Object] = []
        deadline = time.monotonic() + 60  # etcd looks at the size of its file as last committed
        while time.monotonic() < deadline:
            status, answer = ask(server, "POST", MAPS, config_map(f"c{len(stored)}", 900_000))
            if status != 201:
                break
            stored.append(answer)
        assert (status, answer) == refusal("etcdserver: mvcc: database space exceeded")
        assert len(stored) > 2
        changed = {**stored[0], "data": {"text": "less"}}
        full = refusal("etcdserver: mvcc: database space exceeded")
        assert ask(server, "PUT", f"{MAPS}/c0", changed) == full
        event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default", "kind": "Pod", "name": "p"}}
        assert ask(server, "POST", "/api/v1/namespaces/default/events", event) == full
        status, listed = ask(server, "GET", MAPS)
        assert status == 200
        assert {item["metadata"]["name"] for item in stored} <= {item["metadata"]["name"] for item in listed["items"]}
        for item in stored[1:]:
            deleted = ask(server, "DELETE", f"{MAPS}/{item['metadata']['name']}")
            assert (
                deleted[0] == 200 or deleted == full
            )  # earlier ones refuse this, too, once the file is over the quota
        keys = b"/registry/configmaps/default/c"
        run(make_room(cluster, keys + b"1", keys + b"\xff"))
        status, answer = ask(server, "PUT", f"{MAPS}/c0", changed)
        assert (status, answer["data"]) == (200, changed["data"]), answer
        status, listed = ask(server, "GET", MAPS)
        assert {item["metadata"]["name"] for item in listed["items"]} == {"c0"}


def test_how_large_an_object_may_be_is_for_etcd_to_say(tmp_path: Path) -> None:
    escaped = "\x01"  # six bytes where it is stored, one where ConfigMaps are measured
    with running_cluster(tmp_path / "a") as cluster, serve(cluster) as server:
        assert ask(server, "POST", MAPS, config_map("large", 250_000, escaped))[0] == 201
        words = "etcdserver: request is too large"
        assert ask(server, "POST", MAPS, config_map("larger", 270_000, escaped)) == refusal(words)
        status, answer = ask(server, "POST", MAPS, config_map("largest", 450_000, escaped))
        assert status == 500
        beginning = "rpc error: code = ResourceExhausted desc = trying to send message larger than max (27"
        assert answer["message"].startswith(beginning)
        assert answer["message"].endswith(" vs. 2097152)")
        assert ask(server, "PUT", f"{MAPS}/large", config_map("large", 300_000, escaped)) == refusal(words)
        assert ask(server, "PUT", f"{MAPS}/large", config_map("large", 1, escaped))[0] == 200
    raised = ["--max-request-bytes=8388608"]
    with running_cluster(tmp_path / "b", flags=raised) as cluster, serve(cluster) as server:
        status, made = ask(server, "POST", MAPS, config_map("largest", 450_000, escaped))
        assert status == 201
        assert ask(server, "GET", f"{MAPS}/largest") == (200, made)


def test_who_may_not_write_is_told_by_etcd(tmp_path: Path) -> None:
    with running_cluster(tmp_path) as cluster, serve(cluster) as server:
        run(ask_for_names(cluster))
        for method, path, body in (("POST", MAPS, config_map("c", 1)), ("GET", f"{MAPS}/c", None)):
            assert ask(server, method, path, body) == refusal("etcdserver: user name is empty")


async def ask_for_names(cluster: EtcdCluster) -> None:
    """Turn authentication on."""
    (member,) = connect(EtcdConfig(cluster.urls))
    auth: Any = rpc_pb2_grpc.AuthStub(member._channel)
    await auth.UserAdd(rpc_pb2.AuthUserAddRequest(name="root", password="pw"))
    await auth.RoleAdd(rpc_pb2.AuthRoleAddRequest(name="root"))
    await auth.UserGrantRole(rpc_pb2.AuthUserGrantRoleRequest(user="root", role="root"))
    await auth.AuthEnable(rpc_pb2.AuthEnableRequest())
    await member.close()
    await asyncio.sleep(0)

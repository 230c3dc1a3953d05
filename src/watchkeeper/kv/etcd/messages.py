"""Between etcd's messages and the values of the contract."""

from __future__ import annotations

from typing import Any

from aetcd.rpc import rpc_pb2

from watchkeeper.kv.interface import Event, EventType, KeyValue

_MOD = rpc_pb2.Compare.MOD
_EQUAL = rpc_pb2.Compare.EQUAL
_DELETED = 1
_PUT = EventType.PUT
_DELETE = EventType.DELETE


def key_value(message: Any) -> KeyValue:
    """A KeyValue of etcd's."""
    return KeyValue(
        message.key, message.value, message.create_revision, message.mod_revision, message.version, message.lease
    )


def event(message: Any) -> Event:
    """An Event of etcd's."""
    kv = key_value(message.kv)
    prev = key_value(message.prev_kv) if message.HasField("prev_kv") else None
    return Event(_DELETE if message.type == _DELETED else _PUT, kv, prev)


def put_if(key: bytes, value: bytes, expected: int, lease: int, get_on_failure: bool) -> Any:
    """A transaction that writes a key whose mod_revision is the expected one."""
    return rpc_pb2.TxnRequest(
        compare=[_mod_revision_is(key, expected)],
        success=[rpc_pb2.RequestOp(request_put=rpc_pb2.PutRequest(key=key, value=value, lease=lease))],
        failure=_get(key) if get_on_failure else None,
    )


def delete_if(key: bytes, expected: int, get_on_failure: bool) -> Any:
    """A transaction that deletes a key whose mod_revision is the expected one; never an absent one, which has 0."""
    return rpc_pb2.TxnRequest(
        compare=[_mod_revision_is(key, expected if expected > 0 else -1)],
        success=[rpc_pb2.RequestOp(request_delete_range=rpc_pb2.DeleteRangeRequest(key=key, prev_kv=True))],
        failure=_get(key) if get_on_failure else None,
    )


def _mod_revision_is(key: bytes, expected: int) -> Any:
    return rpc_pb2.Compare(result=_EQUAL, target=_MOD, key=key, mod_revision=expected)


def _get(key: bytes) -> list[Any]:
    return [rpc_pb2.RequestOp(request_range=rpc_pb2.RangeRequest(key=key))]

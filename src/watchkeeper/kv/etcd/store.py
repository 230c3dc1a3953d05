"""A key-value store that is an etcd cluster."""

from __future__ import annotations

import asyncio
from typing import Any

from aetcd.rpc import rpc_pb2

from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.kv.errors import AccessDenied, Closed, Compacted, Corrupt, Unavailable
from watchkeeper.kv.etcd.cluster import Cluster
from watchkeeper.kv.etcd.config import EtcdConfig
from watchkeeper.kv.etcd.members import Member
from watchkeeper.kv.etcd.messages import delete_if, key_value, put_if
from watchkeeper.kv.etcd.ranges import read_range
from watchkeeper.kv.etcd.rounds import Rounds
from watchkeeper.kv.etcd.versions import FIRST_TO_REFUSE_STATUS, tells_progress_on_demand
from watchkeeper.kv.etcd.watching import EtcdWatch
from watchkeeper.kv.interface import GetResult, RangeResult, Status, TxnResult, Watch
from watchkeeper.kv.limits import check_key, check_lease_ttl


class EtcdKV:
    """Implements `interface.KV`. Other clients may use the same cluster; leases' keys go in one revision."""

    def __init__(self, config: EtcdConfig) -> None:
        """Needs a running event loop; connects at the first call. Raises Unavailable for unreadable certificates."""
        self._cluster = Cluster(config)
        self._tasks = TaskOwner("etcd")
        self._watches: set[EtcdWatch] = set()
        self._revision_rounds = Rounds(self._read_revision, self._tasks)
        self._probe = rpc_pb2.RangeRequest(key=config.probe_key, count_only=True)

    def __repr__(self) -> str:
        state = "closed" if self._cluster.closed else f"{len(self._watches)} watches"
        return f"<EtcdKV {self._cluster!r}: {state}>"

    # Reads

    async def get(self, key: bytes, *, revision: int = 0) -> GetResult:
        """Read one key, now or as `revision` left it. Raises Compacted, FutureRevision, Unavailable."""
        self._cluster.check_open()
        request = rpc_pb2.RangeRequest(key=key, revision=max(revision, 0))
        answer = await self._cluster.call(_range, request, harmless=True)
        return GetResult(key_value(answer.kvs[0]) if answer.kvs else None, answer.header.revision)

    async def range(
        self,
        start: bytes,
        end: bytes,
        *,
        limit: int = 0,
        revision: int = 0,
        count_only: bool = False,
        keys_only: bool = False,
        counted: bool = True,
    ) -> RangeResult:
        """Read the keys in [start, end), in pages of one revision. Raises Compacted, FutureRevision, Unavailable."""
        self._cluster.check_open()
        if end <= start and end != b"\0":
            answer = await self._cluster.call(
                _range,
                rpc_pb2.RangeRequest(key=start or b"\0", count_only=True, revision=max(revision, 0)),
                harmless=True,
            )
            return RangeResult([], 0, False, answer.header.revision)
        return await read_range(
            self._cluster,
            start,
            end,
            limit=limit,
            revision=max(revision, 0),
            count_only=count_only,
            keys_only=keys_only,
        )

    async def current_revision(self) -> int:
        """Ask the cluster, linearizably. Those who ask at the same time share the question."""
        self._cluster.check_open()
        return await self._revision_rounds.join()

    async def _read_revision(self) -> int:
        answer = await self._cluster.call(_range, self._probe, harmless=True)
        revision: int = answer.header.revision
        return revision

    def current_revision_nowait(self) -> int | None:
        """None: others may write."""
        return None

    async def status(self) -> Status:
        """Facts of the member that is used now. Raises Unavailable when it has no leader, Corrupt when it says so.

        Newer versions tell them to role root only; to others it is told that the cluster answers, with sizes of 0.
        """
        seconds = self._cluster.config.health_timeout
        try:
            answer = await self._cluster.call(_status, rpc_pb2.StatusRequest(), harmless=True, timeout=seconds)
        except AccessDenied:
            answer = await self._cluster.call(_range, self._probe, harmless=True, timeout=seconds)
            return Status("etcd", "", answer.header.revision, 0, 0, 0)
        errors = list(answer.errors)
        if any("CORRUPT" in text for text in errors):
            raise Corrupt(f"etcd {self._cluster.member.name}: {'; '.join(errors)}")
        if not answer.leader:
            raise Unavailable(f"etcd {self._cluster.member.name} has no leader")
        return Status(
            "etcd", answer.version, answer.header.revision, 0, answer.dbSize, answer.dbSizeInUse or answer.dbSize
        )

    # Writes

    async def optimistic_put(
        self,
        key: bytes,
        value: bytes,
        expected_mod_revision: int,
        *,
        lease: int = 0,
        get_on_failure: bool = False,
    ) -> TxnResult:
        """Write `key` if its mod_revision is the expected one. Raises LeaseNotFound, ValueTooLarge, Unavailable."""
        check_key(key)
        answer = await self._cluster.call(
            _txn, put_if(key, value, expected_mod_revision, lease, get_on_failure), harmless=False
        )
        if answer.succeeded:
            return TxnResult(True, answer.header.revision)
        return _refused(answer)

    async def optimistic_delete(
        self, key: bytes, expected_mod_revision: int, *, get_on_failure: bool = False
    ) -> TxnResult:
        """Delete `key` if its mod_revision is the expected one. An absent key never matches. Raises Unavailable."""
        self._cluster.check_open()
        answer = await self._cluster.call(_txn, delete_if(key, expected_mod_revision, get_on_failure), harmless=False)
        if answer.succeeded:
            deleted = answer.responses[0].response_delete_range.prev_kvs
            return TxnResult(True, answer.header.revision, key_value(deleted[0]) if deleted else None)
        return _refused(answer)

    # Watches

    async def watch(self, prefix: bytes, *, after_revision: int = 0, prev_kv: bool = False) -> Watch:
        """Follow all keys that begin with `prefix`. Streams that break are resumed without loss or repetition.

        Raises Compacted, AccessDenied, Unavailable.
        """
        self._cluster.check_open()
        after = after_revision if after_revision > 0 else await self.current_revision()
        watch = EtcdWatch(self._cluster, self._tasks, prefix, after, prev_kv)
        self._watches.add(watch)
        watch.on_end = self._watches.discard
        await watch.start()
        return watch

    async def request_progress(self, watch: Watch) -> bool:
        """Ask the member that serves the watch; False when its version cannot be trusted with that."""
        self._cluster.check_open()
        if not isinstance(watch, EtcdWatch):
            raise TypeError(f"{watch!r} is not a watch of this store")
        judged = None
        # While a member is asked what it runs, the stream may go over to another, whose version counts then.
        while judged is None or judged is not watch.member:
            judged = watch.member
            if judged is None or not tells_progress_on_demand(await self._version(judged)):
                return False
        await watch.request_progress()
        return True

    async def _version(self, member: Member) -> str:
        if member.version is None:
            # Requests wait for this, and then for what they asked: it must not take the time of another of them.
            seconds = self._cluster.config.health_timeout
            try:
                answer = await self._cluster.call(
                    lambda _: member.status, rpc_pb2.StatusRequest(), harmless=True, timeout=seconds
                )
            except AccessDenied:
                member.version = FIRST_TO_REFUSE_STATUS
            else:
                member.version = answer.version
        return member.version

    # Leases

    async def grant_lease(self, ttl: int) -> int:
        """A new lease. The cluster may make it longer than `ttl` seconds, never shorter. Raises Unavailable."""
        self._cluster.check_open()
        check_lease_ttl(ttl)
        answer = await self._cluster.call(_grant, rpc_pb2.LeaseGrantRequest(TTL=ttl), harmless=True)
        lease: int = answer.ID
        return lease

    async def revoke_lease(self, lease: int) -> None:
        """Delete the lease and its keys now, all in one revision. Raises LeaseNotFound, Unavailable."""
        self._cluster.check_open()
        await self._cluster.call(_revoke, rpc_pb2.LeaseRevokeRequest(ID=lease), harmless=False)

    # Upkeep and end

    async def compact(self, revision: int) -> None:
        """Forget history before `revision`, on all members. Raises Compacted, FutureRevision, Unavailable."""
        self._cluster.check_open()
        if revision <= 0:
            raise Compacted
        await self._cluster.call(_compact, rpc_pb2.CompactionRequest(revision=revision), harmless=False)

    async def close(self) -> None:
        """End all watches with Closed and all connections. Idempotent."""
        if self._cluster.closed:
            return
        self._cluster.closed = True
        for watch in list(self._watches):
            watch.end(Closed("the store was closed"))
        await self._tasks.close()
        await self._cluster.close()
        await asyncio.sleep(0)


def _refused(answer: Any) -> TxnResult:
    """What a transaction brings whose condition did not hold."""
    found = answer.responses[0].response_range.kvs if answer.responses else ()
    return TxnResult(False, answer.header.revision, key_value(found[0]) if found else None)


def _range(member: Member) -> Any:
    return member.range


def _txn(member: Member) -> Any:
    return member.txn


def _status(member: Member) -> Any:
    return member.status


def _grant(member: Member) -> Any:
    return member.grant_lease


def _revoke(member: Member) -> Any:
    return member.revoke_lease


def _compact(member: Member) -> Any:
    return member.compact

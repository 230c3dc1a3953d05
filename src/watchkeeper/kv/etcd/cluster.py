"""Calls to a cluster: to the member that works, with a deadline, again where that is harmless."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from aetcd.rpc import rpc_pb2
from grpc.aio import AioRpcError

from watchkeeper.aio.backoff import Backoff
from watchkeeper.kv.errors import AccessDenied, Closed, KVError, Timeout, Unavailable
from watchkeeper.kv.etcd.config import EtcdConfig
from watchkeeper.kv.etcd.failure import Failure, Remedy, classify
from watchkeeper.kv.etcd.members import Member, connect

log = logging.getLogger(__name__)

Metadata = tuple[tuple[str, str], ...]
Method = Callable[[Member], Any]

REQUIRE_LEADER: Metadata = (("hasleader", "true"),)
"""Makes a member that has lost its leader say so, instead of keeping the caller waiting."""

_LINEARIZABLE = (rpc_pb2.RangeRequest, rpc_pb2.TxnRequest)
"""Their answers are never of an older revision than any that was told before they were asked for."""

SILENCE_SECONDS = 10.0
"""Between two messages in the log about refusals."""


class Stranger(Exception):
    """An answer came from another cluster than ours, or from one without its data."""

    def __init__(self, error: KVError) -> None:
        super().__init__(str(error))
        self.error = error
        self.carried_out = False
        """Whether what was asked for has been done there."""


class Cluster:
    """The members, which of them is used now, and the token that they gave us.

    All calls go to one member until it fails; then to the next one. A call that may have changed something is not
    repeated unless the answer says that nothing was done.

    What answers at an address may not be what did: a member put up again without its data begins at revision 1. One
    whose revision is below what was seen is not used, and a write that met it counts as one of which nobody knows. One
    that is not takes the place of the old, as a backup does that was restored with its revision raised (`etcdutl
    snapshot restore --bump-revision`).
    """

    def __init__(self, config: EtcdConfig) -> None:
        """Needs a running event loop; connects at the first call."""
        self.config = config
        self._members = connect(config)
        self._current = 0
        self._token: str | None = None
        self._authenticating: asyncio.Task[None] | None = None
        self.metadata: Metadata = REQUIRE_LEADER
        self.closed = False
        self._silent_until = 0.0
        self.id = 0
        """Which cluster this is, 0 before the first answer."""
        self.seen = 0
        """The highest revision that it has told."""
        self.history = 0
        """Counts how often another history took the place of the one before."""
        self._probe = rpc_pb2.RangeRequest(key=config.probe_key, count_only=True)

    def __repr__(self) -> str:
        return f"<Cluster of {len(self._members)}, using {self.member.name}>"

    @property
    def member(self) -> Member:
        """The member that is used now."""
        return self._members[self._current]

    def leave(self, member: Member) -> None:
        """`member` has failed: use another one, if that has not happened already."""
        member.version = None
        if member is self.member and len(self._members) > 1:
            self._current = (self._current + 1) % len(self._members)
            log.warning("etcd %s does not work; going on with %s", member.name, self.member.name)

    async def call(self, method: Method, request: Any, *, harmless: bool, timeout: float = 0) -> Any:
        """Make a call; `harmless`: making it twice does no harm. `timeout` in seconds, 0 for the configured one.

        Raises the errors of `kv.errors`. Of a call that is not harmless, Timeout means that it may have been done, and
        any other error that it was not.
        """
        loop = asyncio.get_running_loop()
        seconds = timeout or self.config.request_timeout
        deadline = loop.time() + seconds
        backoff = Backoff(initial=0.02, limit=1.0)
        attempts = 0
        failure: Failure | None = None
        if self.config.username and self._token is None:
            await self.authenticate(deadline=deadline)
        while True:
            self.check_open()
            member = self.member
            attempts += 1
            left = deadline - loop.time()
            if left <= 0 and failure is not None:
                raise failure.error  # which says more than that the time is over
            try:
                return await self._attempt(
                    member, method, request, left if not harmless else self._share(left, seconds)
                )
            except AioRpcError as error:
                failure = classify(error, member.name)
                if failure.remedy is Remedy.AUTHENTICATE and self.config.username and attempts <= 3:
                    await self.authenticate(stale=self.metadata, deadline=deadline)
                else:
                    await self._after(failure, member, harmless, error)
            except Stranger as stranger:
                failure = Failure(stranger.error, Remedy.IF_HARMLESS if stranger.carried_out else Remedy.ELSEWHERE)
                await self._after(failure, member, harmless, stranger)
            delay = backoff.next() if attempts % len(self._members) == 0 else 0.0
            if loop.time() + delay >= deadline:
                raise failure.error
            await asyncio.sleep(delay)

    def _share(self, left: float, seconds: float) -> float:
        """How long one attempt of a harmless call may take, so that another member can answer in time."""
        return left if len(self._members) == 1 else min(left, max(seconds / 3, 0.5))

    async def _attempt(self, member: Member, method: Method, request: Any, seconds: float) -> Any:
        if member.is_stranger:
            # Nothing is written there; it may be ours again.
            seen = self.seen
            answer = await self._ask(member.range, self._probe, seconds)
            self.recognize(member, answer.header, at_least=seen)
        seen = self.seen
        answer = await self._ask(method(member), request, seconds)
        header = answer.header
        linearizable = isinstance(request, _LINEARIZABLE)
        if header.cluster_id != self.id or (linearizable and header.revision < seen):
            try:
                self.recognize(member, header, at_least=seen)
            except Stranger as stranger:
                stranger.carried_out = True
                raise
        if header.revision > self.seen:
            self.seen = header.revision
        return answer

    def recognize(self, member: Member, header: Any, *, at_least: int) -> None:
        """Tell whether an answer is of our cluster, or of one that takes its place. Raises Stranger.

        `at_least`: what had been seen before it was asked for.
        """
        if header.revision < at_least:
            member.is_stranger = True
            error = Unavailable(
                f"etcd {member.name} has lost its data, or is of another cluster: it is at revision {header.revision},"
                f" and {at_least} was seen already; if that is meant, restart this server"
            )
            self._tell(error)
            raise Stranger(error)
        if member.is_stranger or header.cluster_id != self.id:
            if self.id:
                log.warning("etcd %s has another history than before; what is cached is read anew", member.name)
                self.history += 1
            self.id = header.cluster_id
            member.is_stranger = False

    async def _ask(self, method: Any, request: Any, seconds: float) -> Any:
        if seconds <= 0:
            raise Timeout("etcd: no answer in time")
        try:
            return await method(request, timeout=seconds, metadata=self.metadata)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # The call was cancelled, not its caller: its channel is closed.
            self.check_open()
            raise Timeout("etcd: the connection was closed; it may have been done") from None

    async def _after(self, failure: Failure, member: Member, harmless: bool, error: Exception) -> None:
        """Prepare another attempt, or raise."""
        self.check_open()
        remedy = failure.remedy
        if remedy is Remedy.ELSEWHERE or remedy is Remedy.IF_HARMLESS:
            self.leave(member)
            await member.renew()
        if remedy is Remedy.ELSEWHERE or (remedy is Remedy.IF_HARMLESS and harmless):
            return
        if remedy is Remedy.IF_HARMLESS and not isinstance(failure.error, Timeout):
            raise Timeout(f"{failure.error}; it may have been done") from error
        if failure.error.said:
            self._tell(failure.error)
        raise failure.error from error

    def _tell(self, refusal: KVError) -> None:
        """Log what has to be put right in the cluster, but not with each request that meets it."""
        now = asyncio.get_running_loop().time()
        if now >= self._silent_until:
            self._silent_until = now + SILENCE_SECONDS
            log.error("%s", refusal)

    # Authentication

    async def authenticate(self, *, stale: Metadata | None = None, deadline: float | None = None) -> None:
        """Get a token, unless the present one is not `stale` any more. Concurrent callers share one attempt.

        `deadline`: until when this caller waits, by the loop's clock. Raises AccessDenied when the cluster does not
        know the user, Unavailable when it cannot be reached.
        """
        if stale is not None and stale != self.metadata:
            return
        if self._authenticating is None or self._authenticating.done():
            self._authenticating = asyncio.get_running_loop().create_task(
                self._authenticate(), name="etcd/authenticate"
            )
        try:
            async with asyncio.timeout_at(deadline):
                await asyncio.shield(self._authenticating)
        except TimeoutError:
            raise Unavailable(f"etcd {self.member.name} has given no token in time") from None

    async def _authenticate(self) -> None:
        request = rpc_pb2.AuthenticateRequest(name=self.config.username, password=self.config.password)
        for _ in self._members:
            member = self.member
            try:
                answer = await member.authenticate(request, timeout=self.config.request_timeout)
            except AioRpcError as error:
                if "authentication is not enabled" in (error.details() or ""):
                    self._token = ""
                    return
                failure = classify(error, member.name)
                if isinstance(failure.error, AccessDenied):
                    raise failure.error from error
                self.leave(member)
                await member.renew()
                last: KVError = failure.error
            else:
                self._token = answer.token
                self.metadata = (*REQUIRE_LEADER, ("token", answer.token))
                return
        raise last

    # End

    def check_open(self) -> None:
        """Raise Closed after `close`."""
        if self.closed:
            raise Closed("the store was closed")

    async def close(self) -> None:
        """End all connections; calls under way raise Closed."""
        self.closed = True
        if self._authenticating is not None:
            self._authenticating.cancel()
        for member in self._members:
            await member.close()

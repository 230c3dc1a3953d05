"""Calls to a cluster: to the member that works, with a deadline, again where that is harmless."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from aetcd.rpc import rpc_pb2
from grpc.aio import AioRpcError

from watchkeeper.aio.backoff import Backoff
from watchkeeper.kv.errors import AccessDenied, Closed, KVError, Timeout
from watchkeeper.kv.etcd.config import EtcdConfig
from watchkeeper.kv.etcd.failure import Failure, Remedy, classify
from watchkeeper.kv.etcd.members import Member, connect

log = logging.getLogger(__name__)

Metadata = tuple[tuple[str, str], ...]
Method = Callable[[Member], Any]

REQUIRE_LEADER: Metadata = (("hasleader", "true"),)
"""Makes a member that has lost its leader say so, instead of keeping the caller waiting."""

SILENCE_SECONDS = 10.0
"""Between two messages in the log about refusals."""


class Cluster:
    """The members, which of them is used now, and the token that they gave us.

    All calls go to one member until it fails; then to the next one. A call that may have changed something is not
    repeated unless the answer says that nothing was done.
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
        if self.config.username and self._token is None:
            await self.authenticate()
        while True:
            self.check_open()
            member = self.member
            attempts += 1
            left = deadline - loop.time()
            try:
                return await self._attempt(
                    method(member), request, left if not harmless else self._share(left, seconds)
                )
            except AioRpcError as error:
                failure = classify(error, member.name)
                await self._after(failure, member, attempts, harmless, error)
            delay = backoff.next() if attempts % len(self._members) == 0 else 0.0
            if loop.time() + delay >= deadline:
                raise failure.error
            await asyncio.sleep(delay)

    def _share(self, left: float, seconds: float) -> float:
        """How long one attempt of a harmless call may take, so that another member can answer in time."""
        return left if len(self._members) == 1 else min(left, max(seconds / 3, 0.5))

    async def _attempt(self, method: Any, request: Any, seconds: float) -> Any:
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

    async def _after(self, failure: Failure, member: Member, attempts: int, harmless: bool, error: AioRpcError) -> None:
        """Prepare another attempt, or raise."""
        self.check_open()
        remedy = failure.remedy
        if remedy is Remedy.AUTHENTICATE and self.config.username and attempts <= 3:
            await self.authenticate(stale=self.metadata)
            return
        if remedy is Remedy.ELSEWHERE or remedy is Remedy.IF_HARMLESS:
            self.leave(member)
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

    async def authenticate(self, *, stale: Metadata | None = None) -> None:
        """Get a token, unless the present one is not `stale` any more. Concurrent callers share one attempt.

        Raises AccessDenied when the cluster does not know the user, Unavailable when it cannot be reached.
        """
        if stale is not None and stale != self.metadata:
            return
        if self._authenticating is None or self._authenticating.done():
            self._authenticating = asyncio.get_running_loop().create_task(
                self._authenticate(), name="etcd/authenticate"
            )
        await asyncio.shield(self._authenticating)

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

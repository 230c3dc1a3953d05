"""A watch of an etcd cluster, over as many streams as it takes.

    CONNECTING ──created──▶ FOLLOWING ──the stream broke──▶ CONNECTING (another member, after a delay)
        └──────────────────────┴── compacted, refused, closed ──▶ ended

Each watch has a stream of its own. `position` is the revision up to which everything has been delivered. A stream is
always asked to begin at that revision itself, although its changes are not wanted: so etcd says that it is compacted
whenever a read there would, and never begins just behind a deletion that compaction has swallowed.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import logging
from collections.abc import Callable, Sequence
from typing import Any

import grpc
from aetcd.rpc import rpc_pb2
from grpc.aio import EOF, AioRpcError

from watchkeeper.aio.backoff import Backoff
from watchkeeper.aio.tasks import TaskOwner
from watchkeeper.kv.errors import AccessDenied, Compacted, KVError, Unavailable
from watchkeeper.kv.etcd.cluster import Cluster, Stranger
from watchkeeper.kv.etcd.failure import Failure, Remedy, classify, classify_text
from watchkeeper.kv.etcd.members import Member
from watchkeeper.kv.etcd.messages import event
from watchkeeper.kv.interface import Event, EventType, WatchBatch, prefix_end
from watchkeeper.kv.mailbox_watch import MailboxWatch

log = logging.getLogger(__name__)

LAG_LIMIT = 5_000
LAG_RESUME = 500
"""So many batches may wait for a consumer before the stream is not read any more, and so few until it is again."""

CREATE_SECONDS = 5.0
"""A member that has not begun a watch by then is left for another."""


PROGRESS_SECONDS = 1.0
"""So long one waits at most until a question for progress has been sent."""


class WatchState(enum.Enum):
    """Whether a stream is open."""

    CONNECTING = "connecting"
    FOLLOWING = "following"
    ENDED = "ended"


class _StreamBroke(Exception):
    """A stream ended in a way that another may continue."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure.error))
        self.failure = failure


class EtcdWatch(MailboxWatch):
    """Implements `interface.Watch`; see the module."""

    def __init__(self, cluster: Cluster, tasks: TaskOwner, prefix: bytes, after_revision: int, prev_kv: bool) -> None:
        """Connects once `start` is called. `after_revision` is not 0 here."""
        super().__init__(prefix, after_revision, prev_kv)
        self._cluster = cluster
        self._tasks = tasks
        self._call: Any = None
        self._asking: asyncio.Task[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._created: asyncio.Future[None] | None = None
        self._trouble: KVError | None = None
        self._history = cluster.history
        self._metadata = cluster.metadata
        """What the last stream was opened with."""
        self._denied = False
        """Whether the last stream was refused, and a new token has been asked for since."""
        self.on_end: Callable[[EtcdWatch], None] | None = None
        """Called when nothing more is going to be delivered."""
        self.member: Member | None = None
        """The member that serves the present stream."""
        self.position = after_revision
        self.state = WatchState.CONNECTING

    def __repr__(self) -> str:
        return f"<EtcdWatch {self.prefix!r} {self.state.value} at {self.position}: {self.mailbox!r}>"

    async def start(self) -> None:
        """Open the first stream; return once etcd has begun the watch. Raises what prevents that."""
        self._created = asyncio.get_running_loop().create_future()
        self._task = self._tasks.start(f"watch-{self.prefix!r}", self._run())
        seconds = self._cluster.config.request_timeout
        try:
            # Not wait_for: until Python 3.12 it loses a cancellation that comes together with the result.
            done, _ = await asyncio.wait((self._created,), timeout=seconds)
            if not done:
                raise self._trouble or Unavailable(f"etcd has not begun a watch in {seconds:g} s")
            self._created.result()
        except BaseException:
            await self.close()
            raise

    async def request_progress(self) -> None:
        """Ask etcd for progress; when there is no stream now, the question is lost.

        A stream takes one message at a time, and gRPC cancels it together with whoever waits for one to be sent. So
        those who ask at the same time share a question, which none of them takes along when it gives up.
        """
        if self.state is not WatchState.FOLLOWING or self._call is None:
            return
        if self._asking is None or self._asking.done():
            self._asking = self._tasks.start(f"progress-{self.prefix!r}", _ask_progress(self._call))
        await asyncio.wait((self._asking,), timeout=PROGRESS_SECONDS)

    # The life of the watch

    async def _run(self) -> None:
        """Follow until the end, which the consumer is told, whatever it is."""
        try:
            await self._follow_on()
        except Exception as error:
            log.exception("a watch of %r failed", self.prefix)
            self.end(Unavailable(f"the watch failed: {error!r}"))

    async def _follow_on(self) -> None:
        backoff = Backoff(initial=0.05, limit=2.0)
        while True:
            before = self.position
            try:
                await self._follow()
            except _StreamBroke as broken:
                failure = self._second_chance(broken.failure)
                if failure.remedy is Remedy.NONE:
                    self.end(failure.error)
                    return
                self._trouble = failure.error
                log.info("a watch of %r is resumed after %d: %s", self.prefix, self.position, broken)
                if self.position > before:
                    backoff.reset()
                await asyncio.sleep(backoff.next())
                if failure.remedy is Remedy.AUTHENTICATE and not await self._authenticate_again():
                    return
            except KVError as error:
                self.end(error)
                return

    def _second_chance(self, failure: Failure) -> Failure:
        """Tell whether a refusal may only mean that the token is not known any more.

        Of watches etcd says the same whether the user has no right or the token is none: a member that was started
        again has forgotten the tokens that it gave. So a refusal is believed when it comes to a new token.
        """
        if failure.remedy is Remedy.AUTHENTICATE and not self._cluster.config.username:
            return Failure(failure.error, Remedy.NONE)
        denied = failure.remedy is Remedy.NONE and isinstance(failure.error, AccessDenied)
        if not denied or self._denied or not self._cluster.config.username:
            return failure
        self._denied = True
        return Failure(failure.error, Remedy.AUTHENTICATE)

    async def _authenticate_again(self) -> bool:
        """Get a new token, if possible; False when the user is not known, which ends the watch."""
        try:
            await self._cluster.authenticate(stale=self._metadata)
        except AccessDenied as error:
            self.end(error)
            return False
        except KVError as error:
            log.debug("authentication failed for now: %s", error)
        return True

    async def _follow(self) -> None:
        """Open a stream and deliver what it brings, until it ends; then raise."""
        member = self.member = self._cluster.member
        self._cluster.check_open()
        self._metadata = self._cluster.metadata
        call = self._call = member.watch(metadata=self._metadata)
        try:
            await self._create(call, member)
            self.state = WatchState.FOLLOWING
            self._denied = False
            await self._deliver_all(call, member)
        except AioRpcError as error:
            failure = classify(error, member.name)
            if failure.remedy in (Remedy.ELSEWHERE, Remedy.IF_HARMLESS):
                self._cluster.leave(member)
                await member.renew()
            raise _StreamBroke(failure) from error
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            # gRPC says the same of a stream that was cancelled as of a reader that was.
            failure = Failure(Unavailable(f"etcd {member.name}: the stream was cancelled"), Remedy.ELSEWHERE)
            raise _StreamBroke(failure) from None
        finally:
            self._call = None
            if self.state is WatchState.FOLLOWING:
                self.state = WatchState.CONNECTING
            call.cancel()

    async def _create(self, call: Any, member: Member) -> None:
        create = rpc_pb2.WatchCreateRequest(
            key=self.prefix or b"\0",
            range_end=prefix_end(self.prefix),
            start_revision=self.position,
            progress_notify=True,
            prev_kv=self.prev_kv,
            fragment=True,
        )
        try:
            async with asyncio.timeout(CREATE_SECONDS):
                with contextlib.suppress(asyncio.InvalidStateError):  # the stream ended already; reading tells why
                    await call.write(rpc_pb2.WatchRequest(create_request=create))
                answer = await call.read()
        except TimeoutError:
            self._cluster.leave(member)
            text = f"etcd {member.name} has not begun a watch in {CREATE_SECONDS} s"
            raise _StreamBroke(Failure(Unavailable(text), Remedy.ELSEWHERE)) from None
        self._check_end(answer, member)
        self._recognize(answer, member)
        if self._created is not None and not self._created.done():
            self._created.set_result(None)

    def _recognize(self, answer: Any, member: Member) -> None:
        """Raise what it means that a stream is of another cluster than the last one."""
        cluster = self._cluster
        try:
            # What lags behind the other members is none the less one of them; only a read tells more.
            if answer.header.cluster_id != cluster.id:
                cluster.recognize(member, answer.header, at_least=self.position)
            elif member.is_stranger:
                raise Stranger(Unavailable(f"etcd {member.name} has lost its data"))
        except Stranger as stranger:
            cluster.leave(member)
            raise _StreamBroke(Failure(stranger.error, Remedy.ELSEWHERE)) from None
        self._check_history()

    def _check_history(self) -> None:
        """Raise Compacted when the cluster has another history than this watch began with: of that nobody can tell."""
        if self._cluster.history != self._history:
            raise Compacted

    async def _deliver_all(self, call: Any, member: Member) -> None:
        parts: list[Event] = []
        while True:
            answer = await call.read()
            self._check_end(answer, member)
            self._check_history()
            parts.extend(map(event, answer.events))
            whole = _whole_revisions(parts) if answer.fragment else len(parts)
            if whole:
                self._deliver(parts[:whole])
                del parts[:whole]
            elif not answer.fragment and not answer.created:
                self._progress(answer.header.revision)
            if len(self.mailbox.items) > LAG_LIMIT:
                await self._until_drained()

    def _check_end(self, answer: Any, member: Member) -> None:
        """Raise what a canceled watch or an ended stream means."""
        if answer is EOF:
            self._cluster.leave(member)
            failure = Failure(Unavailable(f"etcd {member.name} ended the stream"), Remedy.ELSEWHERE)
            raise _StreamBroke(failure)
        if not answer.canceled:
            return
        if answer.compact_revision:
            raise Compacted(answer.compact_revision)
        failure = classify_text(grpc.StatusCode.UNKNOWN, answer.cancel_reason, member.name)
        if failure.remedy is not Remedy.NONE:
            self._cluster.leave(member)
        raise _StreamBroke(failure)

    def _deliver(self, events: Sequence[Event]) -> None:
        new = tuple(events)
        if new[0].kv.mod_revision <= self.position:
            new = tuple(found for found in new if found.kv.mod_revision > self.position)
            if not new:
                return
        if self.prev_kv and any(_lacks_previous_state(found) for found in new):
            # etcd leaves it out when it has been compacted meanwhile. Without it the change cannot be understood.
            raise Compacted
        self.position = new[-1].kv.mod_revision
        self._cluster.seen = max(self._cluster.seen, self.position)
        self.mailbox.put_nowait(WatchBatch(self.position, new))

    def _progress(self, revision: int) -> None:
        """Everything up to `revision` has been delivered. A member that lags behind the last one may say less."""
        if revision >= self.position:
            self.position = revision
            self.mailbox.put_nowait(WatchBatch(revision))

    # Slowness and end

    async def _until_drained(self) -> None:
        """Read no more until the consumer has taken nearly everything: etcd keeps the rest."""
        while len(self.mailbox.items) > LAG_RESUME and not self.mailbox.closed:
            self._drained = asyncio.get_running_loop().create_future()
            await self._drained

    def _took(self) -> None:
        if self._drained is not None and len(self.mailbox.items) <= LAG_RESUME and not self._drained.done():
            self._drained.set_result(None)

    def _reached(self) -> int | None:
        return None

    def is_current_nowait(self) -> bool:
        """Never known."""
        return False

    def end(self, error: Exception) -> None:
        """Take no more events; the consumer gets `error` behind what waits."""
        if self._created is not None and not self._created.done():
            self._created.set_exception(error)
        super().end(error)

    def _forget(self) -> None:
        self.state = WatchState.ENDED
        if self.on_end is not None:
            self.on_end(self)
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()


def _whole_revisions(events: Sequence[Event]) -> int:
    """How many of the first events of an answer cannot have siblings in its next fragment.

    etcd cuts an answer between any two events, but they are in the order of their revisions. What is whole is
    delivered at once: a link that breaks every few megabytes would else never get past a larger answer.
    """
    count = len(events)
    while count and events[count - 1].kv.mod_revision == events[-1].kv.mod_revision:
        count -= 1
    return count


async def _ask_progress(call: Any) -> None:
    with contextlib.suppress(AioRpcError, asyncio.InvalidStateError):
        await call.write(rpc_pb2.WatchRequest(progress_request=rpc_pb2.WatchProgressRequest()))


def _lacks_previous_state(found: Event) -> bool:
    return found.prev is None and (found.type is EventType.DELETE or not found.is_create)

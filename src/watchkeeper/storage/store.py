"""`storage.Interface` straight over a key-value store: every answer is the store's own, every write goes to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from watchkeeper.aio.clock import SYSTEM_CLOCK, Clock
from watchkeeper.kv import errors as kv_errors
from watchkeeper.kv.interface import KV, KeyValue, TxnResult, prefix_end
from watchkeeper.storage.closing import Closer
from watchkeeper.storage.codec import JsonCodec
from watchkeeper.storage.decoder import Decoder
from watchkeeper.storage.errors import InvalidRequest, KeyExists, KeyNotFound, StorageError, TooLargeResourceVersion
from watchkeeper.storage.interface import (
    DeleteOptions,
    ListOptions,
    ListResult,
    Object,
    Preconditions,
    Stats,
    StoredObject,
    UpdateFunc,
    UpdateOptions,
    ValidateFunc,
    Watcher,
    WatchOptions,
)
from watchkeeper.storage.keys import check_key
from watchkeeper.storage.kv_errors import translate
from watchkeeper.storage.leases import LeaseManager
from watchkeeper.storage.lister import Lister
from watchkeeper.storage.own_writes import OwnWrites
from watchkeeper.storage.state import State, check_preconditions
from watchkeeper.storage.value.interface import Transformer, TransformError
from watchkeeper.storage.versioner import parse_resource_version
from watchkeeper.storage.watcher import open_watcher


class Store:
    """One resource in a key-value store. Implements `storage.Interface`."""

    def __init__(
        self,
        kv: KV,
        codec: JsonCodec,
        resource_prefix: str,
        *,
        transformer: Transformer | None = None,
        clock: Clock = SYSTEM_CLOCK,
        leases: LeaseManager | None = None,
    ) -> None:
        """`resource_prefix` such as `/registry/pods`; `leases` may be shared by all stores of a KV."""
        if not resource_prefix.strip("/") or not resource_prefix.startswith("/"):
            raise ValueError(f"a resource prefix begins with a slash and names something, unlike {resource_prefix!r}")
        self.kv = kv
        self.codec = codec
        self.root = resource_prefix.rstrip("/") + "/"
        self.decoder = Decoder(codec, transformer)
        self.own_writes: OwnWrites | None = None
        """Where writes are announced, when a cache wants to recognize them."""
        self._transformer = transformer
        self._leases = leases if leases is not None else LeaseManager(kv, clock)
        self._lister = Lister(kv, self.decoder)
        self._closer = Closer(f"store {self.root}")
        self._watchers: set[Watcher] = set()

    def __repr__(self) -> str:
        return f"<Store {self.root} over {self.kv!r}>"

    # Reads

    async def get(self, key: str, *, resource_version: str = "", known: StoredObject | None = None) -> StoredObject:
        """Read one object from the store. Raises KeyNotFound, CorruptObject, TooLargeResourceVersion.

        `known`: a state of it, which is returned without decoding if it turns out to be the latest.
        """
        check_key(key, self.root)
        minimum = parse_resource_version(resource_version)
        try:
            result = await self.kv.get(key.encode())
        except kv_errors.KVError as e:
            raise translate(e, key) from e
        if minimum > result.revision:
            raise TooLargeResourceVersion(minimum, result.revision, 0)
        kv = result.kv
        if kv is None:
            raise KeyNotFound(f"key not found: {key}", key)
        if known is not None and known.resource_version == kv.mod_revision:
            return known
        return await self.decoder.read(kv)

    def get_nowait(self, key: str, *, resource_version: str = "") -> StoredObject | None:
        """Never known without asking the store."""
        return None

    async def get_list(self, prefix: str, options: ListOptions) -> ListResult:
        """List from the store, in pages of it if there is a limit."""
        check_key(prefix, self.root)
        return await self._lister.get_list(prefix, options)

    def is_absent_nowait(self, key: str) -> bool:
        """Never known without asking the store."""
        return False

    def list_nowait(self, prefix: str) -> list[StoredObject] | None:
        """Never known without asking the store."""
        return None

    async def count(self, prefix: str) -> int:
        """Count keys in the store, without reading them."""
        check_key(prefix, self.root)
        start = prefix.encode()
        try:
            return (await self.kv.range(start, prefix_end(start), count_only=True)).count
        except kv_errors.KVError as e:
            raise translate(e, prefix) from e

    async def stats(self) -> Stats:
        """The number of objects; sizes are not known here."""
        return Stats(await self.count(self.root))

    async def current_resource_version(self) -> int:
        """The store's revision, linearizable."""
        try:
            return await self.kv.current_revision()
        except kv_errors.KVError as e:
            raise translate(e) from e

    def ready(self) -> str:
        """Always: there is nothing to warm up."""
        return ""

    # Writes

    async def create(self, key: str, obj: Object, *, ttl: int = 0, settled: bool = False) -> StoredObject:
        """Store a new object. Raises KeyExists, InvalidRequest if it carries a resourceVersion already."""
        check_key(key, self.root)
        if (obj.get("metadata") or {}).get("resourceVersion") not in (None, "", "0"):
            raise InvalidRequest("resourceVersion should not be set on objects to be created")
        body = self.codec.body_of_new(obj)
        result, stored = await self._put(key, obj, body, 0, ttl, get_on_failure=False, settled=settled)
        if not result.succeeded:
            raise KeyExists(f"key exists: {key}", key)
        return stored

    async def guaranteed_update(
        self, key: str, update: UpdateFunc, options: UpdateOptions = UpdateOptions()
    ) -> StoredObject:
        """Change an object by a function of its current state, retrying until no other writer interferes."""
        check_key(key, self.root)

        async def read() -> State:
            return await self._current(key, ignore_not_found=options.ignore_not_found)

        state = State.suggested(options.suggestion) if options.suggestion is not None else await read()
        while True:
            state, obj = await self._attempt(key, state, read, update, options.preconditions)
            body = self.codec.body(obj) if state.revision else self.codec.body_of_new(obj)
            if state.holds(self.codec, body):
                if not state.current:
                    # It looks as if nothing changes; only the store's own bytes can tell.
                    state = await read()
                    if not state.holds(self.codec, body):
                        continue
                if state.stored is not None and not state.stale:
                    return state.stored
            settled = options.settled or (options.keeps_settled and state.stored is not None and state.stored.settled)
            result, stored = await self._put(
                key, obj, body, state.revision, options.ttl, get_on_failure=True, settled=settled
            )
            if result.succeeded:
                return stored
            state = await self._state_of(result.kv, key, ignore_not_found=options.ignore_not_found)

    async def _attempt(
        self,
        key: str,
        state: State,
        read: Callable[[], Awaitable[State]],
        update: UpdateFunc,
        required: Preconditions | None,
    ) -> tuple[State, Object]:
        """What an update makes of a state; what fails on a mere suggestion is tried again on the latest state.

        An error is final if the state was the latest, or if the latest turns out to be the one that was suggested.
        """
        try:
            check_preconditions(key, state, required)
            result = update(state.stored)
            return state, result if isinstance(result, dict) else await result
        except Exception:
            if state.current:
                raise
            latest = await read()
            if latest.revision == state.revision:
                raise
        return await self._attempt(key, latest, read, update, required)

    async def delete(self, key: str, options: DeleteOptions = DeleteOptions()) -> StoredObject:
        """Delete an object; returns its last state, at the version of the deletion.

        An unsafe deletion does not look at the value and returns an object without content.
        """
        check_key(key, self.root)

        async def read() -> State:
            return await self._current(key, ignore_not_found=False, opaque=options.unsafe)

        usable = options.suggestion if not options.unsafe else None
        state = State.suggested(usable) if usable is not None else await read()
        while True:
            if not options.unsafe:
                state, _ = await self._attempt(key, state, read, _judged(options.validate), options.preconditions)
            try:
                result = await self.kv.optimistic_delete(key.encode(), state.revision, get_on_failure=True)
            except kv_errors.KVError as e:
                raise translate(e, key) from e
            if result.succeeded:
                if state.stored is None:
                    return self.codec.wrap(key, b'"metadata":{}}', result.revision)
                return self.codec.restamp(state.stored, result.revision)
            state = await self._state_of(result.kv, key, ignore_not_found=False, opaque=options.unsafe)

    # Inner workings

    async def _put(
        self, key: str, obj: Object, body: bytes, expected: int, ttl: int, *, get_on_failure: bool, settled: bool
    ) -> tuple[TxnResult, StoredObject]:
        """Write an encoded object. The StoredObject is what it is when the write succeeded."""
        kv_key = key.encode()
        value = self.codec.head + body
        if self._transformer is not None:
            value = self._encrypt(self._transformer, value, kv_key)
        shown, attributes = self.codec.shown(obj, body)
        own_writes, write, result = self.own_writes, None, None
        if own_writes is not None:
            write = own_writes.expect(kv_key, value, shown, attributes, settled=settled)
        try:
            result = await self._leased_put(kv_key, value, expected, ttl, get_on_failure)
        except kv_errors.KVError as e:
            raise translate(e, key) from e
        finally:
            if own_writes is not None and (result is None or not result.succeeded):
                own_writes.failed(kv_key)
        if own_writes is not None and write is not None and result.succeeded:
            return result, own_writes.succeeded(key, write, result.revision)
        stored = self.codec.wrap(key, shown, result.revision)
        stored.set_attributes(attributes)
        stored.settled = settled
        return result, stored

    def _encrypt(self, transformer: Transformer, value: bytes, key: bytes) -> bytes:
        try:
            return transformer.to_storage(value, key)
        except TransformError as e:
            text = key.decode()
            raise StorageError(f"unable to encrypt {text}: {e}", text) from e

    async def _leased_put(self, key: bytes, value: bytes, expected: int, ttl: int, get_on_failure: bool) -> TxnResult:
        if not ttl:
            return await self.kv.optimistic_put(key, value, expected, get_on_failure=get_on_failure)
        lease = await self._leases.lease(ttl)
        try:
            return await self.kv.optimistic_put(key, value, expected, lease=lease, get_on_failure=get_on_failure)
        except kv_errors.LeaseNotFound:
            self._leases.forget(lease)
            lease = await self._leases.lease(ttl)
            return await self.kv.optimistic_put(key, value, expected, lease=lease, get_on_failure=get_on_failure)

    async def _current(self, key: str, *, ignore_not_found: bool, opaque: bool = False) -> State:
        try:
            kv = (await self.kv.get(key.encode())).kv
        except kv_errors.KVError as e:
            raise translate(e, key) from e
        return await self._state_of(kv, key, ignore_not_found=ignore_not_found, opaque=opaque)

    async def _state_of(self, kv: KeyValue | None, key: str, *, ignore_not_found: bool, opaque: bool = False) -> State:
        if kv is None:
            if not ignore_not_found:
                raise KeyNotFound(f"key not found: {key}", key)
            return State(None, 0, None, stale=False, current=True)
        if opaque:
            return State(None, kv.mod_revision, None, stale=True, current=True)
        value, stale = await self.decoder.read_plain(kv)
        return State(self.decoder.wrap(kv, value), kv.mod_revision, value, stale=stale, current=True)

    # Watches and end

    async def watch(self, prefix: str, options: WatchOptions) -> Watcher:
        """Follow the store directly. What fails after the options were understood comes as an ERROR event."""
        check_key(prefix, self.root)
        return await open_watcher(self.kv, self.decoder, prefix, options, self._closer, self._watchers)

    async def close(self) -> None:
        """End watches. The KV stays open: it is shared. Idempotent."""
        for watcher in list(self._watchers):
            watcher.close()
        await self._closer.drain()


def _judged(validate: ValidateFunc | None) -> UpdateFunc:
    """A change that changes nothing: asks whether an object may be deleted."""

    async def judge(stored: StoredObject | None) -> Object:
        if validate is not None and stored is not None:
            waiting = validate(stored)
            if waiting is not None:
                await waiting
        return {}

    return judge

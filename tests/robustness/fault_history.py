"""Checks what clients saw against what the store says happened.

Clients record every operation with the times at which it began and ended (of one clock), and what came of it. The
truth is the store's own log of revisions, read once it is quiet. What must hold:

1. Revisions strictly rise and never repeat: in the log, and among acknowledgements.
2. No acknowledged write is lost: it is in the log, at the revision that was told, once.
3. Nothing is invented: a write that was refused is not in the log; one without an answer is there at most once; each
   entry of the log was written by somebody.
4. Time is respected: what was acknowledged before another write began has the lower revision.
5. No stale read where consistency was asked for: a read without a version shows everything that was acknowledged, or
   shown by another such read, before it began. A list is the state of exactly one revision: the one it names.
6. A read of a version shows that version or a later one; "0" shows some state that there was.
7. A watch tells each change that it selects once, in order, from behind its version, without a gap, with the type that
   the change means to its selector. A bookmark never precedes an event that it covers. Resuming at what was told last
   repeats nothing and misses nothing, because each watch is held to that from its own start.
8. Nobody is forgotten: every watcher has in the end seen the last change of all: in one watch, over several, or in a
   list that it took because its version had expired. What such a list shows, no watch from it tells.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum

MAX_TOLD = 20
"""Violations that are told; the rest are counted."""


class Outcome(Enum):
    """What a client knows of its write."""

    DONE = "done"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class State:
    """An object: the token of the write that made it so, its revision, and its color, by which watchers select."""

    token: str
    revision: int
    color: str


@dataclass(frozen=True, slots=True)
class Change:
    """An entry of the log: the state that a revision gave a key, None when it took it away."""

    revision: int
    key: str
    state: State | None


@dataclass(frozen=True, slots=True)
class Write:
    """A put with a token of its own (`deletes` 0), or a deletion of the state of revision `deletes` and no other."""

    key: str
    begun: float
    ended: float
    outcome: Outcome
    token: str = ""
    deletes: int = 0
    revision: int = 0
    """As acknowledged; deletions are acknowledged without one."""


@dataclass(frozen=True, slots=True)
class Read:
    """A list of everything (`key` "") at `revision`, or a read of one key; `found` by key.

    `consistent`: no version was given. Else at least `minimum` had to be shown. `watcher`: who took the list in order
    to watch on from there.
    """

    begun: float
    ended: float
    found: dict[str, State]
    key: str = ""
    revision: int = 0
    consistent: bool = True
    minimum: int = 0
    watcher: str = ""


@dataclass(slots=True)
class Session:
    """One watch: what it told, from behind a version. `colors` empty: everything is selected."""

    watcher: str
    start: int
    colors: frozenset[str] = frozenset()
    told: list[tuple[str, str, int]] = field(default_factory=list)
    """(ADDED, MODIFIED or DELETED, key, revision), or (BOOKMARK, "", revision)."""


@dataclass(slots=True)
class History:
    """Everything that was recorded."""

    writes: list[Write] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    sessions: list[Session] = field(default_factory=list)

    def extend(self, other: History) -> None:
        """Add what another recorded."""
        self.writes += other.writes
        self.reads += other.reads
        self.sessions += other.sessions

    def __str__(self) -> str:
        outcomes = Counter(write.outcome for write in self.writes)
        told = [len(session.told) for session in self.sessions if session.told]
        return (
            f"{len(self.writes)} writes ({outcomes[Outcome.DONE]} acknowledged, {outcomes[Outcome.REFUSED]} refused, "
            f"{outcomes[Outcome.UNKNOWN]} without an answer), {len(self.reads)} reads, "
            f"{sum(told)} events in {len(told)} watches"
        )


class Truth:
    """The log, made fit for questions."""

    def __init__(self, changes: Iterable[Change]) -> None:
        self.changes = list(changes)
        self.revisions = [change.revision for change in self.changes]
        self.before: list[State | None] = []
        """The state of its key before each change."""
        self.of_key: dict[str, list[Change]] = {}
        self.tokens: dict[str, list[Change]] = {}
        self.deletions: dict[int, list[Change]] = {}
        """By the revision of the state that was taken away."""
        now: dict[str, State] = {}
        for change in self.changes:
            before = now.get(change.key)
            self.before.append(before)
            self.of_key.setdefault(change.key, []).append(change)
            if change.state is not None:
                now[change.key] = change.state
                self.tokens.setdefault(change.state.token, []).append(change)
            elif before is not None:
                del now[change.key]
                self.deletions.setdefault(before.revision, []).append(change)

    def told_to(self, session: Session, until: int) -> Iterator[tuple[str, str, int]]:
        """What a watch from behind a version has to tell up to a revision."""
        for at in range(bisect_right(self.revisions, session.start), len(self.changes)):
            change, before = self.changes[at], self.before[at]
            if change.revision > until:
                return
            was = before is not None and (not session.colors or before.color in session.colors)
            now = change.state is not None and (not session.colors or change.state.color in session.colors)
            if now:
                yield "MODIFIED" if was else "ADDED", change.key, change.revision
            elif was:
                yield "DELETED", change.key, change.revision


def check(history: History, changes: Iterable[Change], *, last: int = 0) -> list[str]:
    """Everything that is wrong, in words; nothing when all promises were kept.

    `last`: the revision of a final change that every watcher had to see; 0 does not ask for that.
    """
    truth = Truth(changes)
    found: list[str] = []
    for part in (
        _log(truth),
        _writes(history, truth),
        _invented(history, truth),
        _order(history, truth),
        _freshness(history, truth),
        _lists(history, truth),
        _gets(history, truth),
        _watches(history, truth),
        _forgotten(history, last),
    ):
        found += part
    if len(found) > MAX_TOLD:
        found[MAX_TOLD:] = [f"… and {len(found) - MAX_TOLD} more"]
    return found


def _log(truth: Truth) -> Iterator[str]:
    for before, after in zip(truth.revisions, truth.revisions[1:], strict=False):
        if after <= before:
            yield f"the log goes from revision {before} to {after}"
    for at, change in enumerate(truth.changes):
        if change.state is None and truth.before[at] is None:
            yield f"revision {change.revision} deletes {change.key}, which does not exist"


def _writes(history: History, truth: Truth) -> Iterator[str]:
    acknowledged: dict[int, Write] = {}
    for write in history.writes:
        if write.deletes:
            yield from _deletion(write, truth)
            continue
        entries = truth.tokens.get(write.token, [])
        if len(entries) > 1:
            yield f"one write of {write.key} happened {len(entries)} times: {write}"
        if write.outcome is Outcome.REFUSED and entries:
            yield f"a refused write happened: {write}"
        if write.outcome is not Outcome.DONE:
            continue
        if write.revision in acknowledged:
            yield f"revision {write.revision} was acknowledged twice: {write}, {acknowledged[write.revision]}"
        acknowledged[write.revision] = write
        if not entries:
            yield f"an acknowledged write is lost: {write}"
        elif (entries[0].revision, entries[0].key) != (write.revision, write.key):
            yield f"an acknowledged write is at {entries[0]}: {write}"


def _deletion(write: Write, truth: Truth) -> Iterator[str]:
    happened = [change for change in truth.deletions.get(write.deletes, []) if change.key == write.key]
    if write.outcome is Outcome.DONE and not happened:
        yield f"an acknowledged deletion is lost: {write}"


def _invented(history: History, truth: Truth) -> Iterator[str]:
    tokens = {write.token for write in history.writes if not write.deletes}
    for token, entries in truth.tokens.items():
        if token not in tokens:
            yield f"nobody wrote {entries[0]}"
    tried: Counter[int] = Counter()
    done: Counter[int] = Counter()
    for write in history.writes:
        if write.deletes:
            tried[write.deletes] += write.outcome is not Outcome.REFUSED
            done[write.deletes] += write.outcome is Outcome.DONE
    for revision, entries in truth.deletions.items():
        if not tried[revision]:
            yield f"nobody deleted {entries[0]}"
    for revision, count in done.items():
        if count > 1:
            yield f"the deletion of the state of revision {revision} was acknowledged {count} times"


def _revision(write: Write, truth: Truth) -> int:
    """Of an acknowledged write, 0 when it is lost."""
    if not write.deletes:
        return write.revision
    entries = truth.deletions.get(write.deletes, [])
    return entries[0].revision if entries else 0


def _order(history: History, truth: Truth) -> Iterator[str]:
    """By begin, with the greatest revision that had been acknowledged until then."""
    done = [(write, _revision(write, truth)) for write in history.writes if write.outcome is Outcome.DONE]
    ends = sorted((write.ended, revision) for write, revision in done)
    at, floor = 0, 0
    for write, revision in sorted(done, key=lambda pair: pair[0].begun):
        while at < len(ends) and ends[at][0] < write.begun:
            floor = max(floor, ends[at][1])
            at += 1
        if revision and revision <= floor:
            yield f"a write has revision {revision}, but {floor} was acknowledged before it began: {write}"


def _floors(history: History, truth: Truth) -> Iterator[tuple[Read, int]]:
    """Each consistent read with the greatest revision that had been acknowledged or listed before it began."""
    reads = [read for read in history.reads if read.consistent]
    ends = [(w.ended, _revision(w, truth)) for w in history.writes if w.outcome is Outcome.DONE]
    ends += [(read.ended, read.revision) for read in reads]
    ends.sort()
    at, floor = 0, 0
    for read in sorted(reads, key=lambda read: read.begun):
        while at < len(ends) and ends[at][0] < read.begun:
            floor = max(floor, ends[at][1])
            at += 1
        yield read, floor


def _freshness(history: History, truth: Truth) -> Iterator[str]:
    for read, floor in _floors(history, truth):
        if not read.key and read.revision < floor:
            yield f"a list is of revision {read.revision}, but {floor} was known before it began"
        elif read.key and not _was(truth, read.key, read.found.get(read.key), floor):
            yield f"a read of {read.key} shows {read.found.get(read.key)}, which was gone at {floor}"


def _was(truth: Truth, key: str, state: State | None, floor: int) -> bool:
    """Whether a key had that state at `floor` or later."""
    changes = truth.of_key.get(key, [])
    later = bisect_right(changes, floor, key=_revision_of)
    if state == (changes[later - 1].state if later else None):
        return True
    if state is None:
        return any(change.state is None for change in changes[later:])
    at = bisect_right(changes, state.revision, key=_revision_of) - 1
    return at >= later and changes[at].state == state


def _revision_of(change: Change) -> int:
    return change.revision


def _lists(history: History, truth: Truth) -> Iterator[str]:
    """Each list is the state of its revision, which is not below its minimum."""
    state: dict[str, State] = {}
    at = 0
    for read in sorted((read for read in history.reads if not read.key), key=lambda read: read.revision):
        while at < len(truth.changes) and truth.revisions[at] <= read.revision:
            change = truth.changes[at]
            if change.state is None:
                state.pop(change.key, None)
            else:
                state[change.key] = change.state
            at += 1
        if read.revision < read.minimum:
            yield f"a list is of revision {read.revision}, asked for was {read.minimum}"
        if read.found != state:
            missing, extra = state.items() - read.found.items(), read.found.items() - state.items()
            yield f"a list is not the state of its revision {read.revision}: without {missing}, with {extra}"


def _gets(history: History, truth: Truth) -> Iterator[str]:
    for read in history.reads:
        if read.key and not read.consistent and not _was(truth, read.key, read.found.get(read.key), read.minimum):
            yield f"a read of {read.key} shows {read.found.get(read.key)}, which never was from {read.minimum} on"


def _watches(history: History, truth: Truth) -> Iterator[str]:
    for session in history.sessions:
        if not session.told:
            continue
        wrong = _watch(session, truth)
        if wrong:
            yield f"{session.watcher}, from {session.start}: {wrong}"


def _watch(session: Session, truth: Truth) -> str:
    newest = max(version for _, _, version in session.told)
    expected = truth.told_to(session, newest)
    waiting = next(expected, None)
    for event in session.told:
        what, _, version = event
        if what == "BOOKMARK":
            if waiting is not None and waiting[2] <= version:
                return f"a bookmark of {version} came before {waiting}"
        elif event != waiting:
            return f"told was {event}, due was {waiting}"
        else:
            waiting = next(expected, None)
    return ""


def _forgotten(history: History, last: int) -> Iterator[str]:
    if not last:
        return
    seen: dict[str, int] = {}
    for session in history.sessions:
        newest = max((version for what, _, version in session.told if what != "BOOKMARK"), default=0)
        seen[session.watcher] = max(seen.get(session.watcher, 0), newest)
    for read in history.reads:
        if read.watcher:
            seen[read.watcher] = max(seen.get(read.watcher, 0), read.revision)
    for watcher, version in seen.items():
        if version < last:
            yield f"{watcher} was never told of revision {last}; the last it saw is {version}"

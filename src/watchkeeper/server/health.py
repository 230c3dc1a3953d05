"""Health over HTTP: /healthz, /livez and /readyz, each a list of named checks (apiserver's pkg/server/healthz)."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from watchkeeper.endpoints.metrics import Family, Sample
from watchkeeper.endpoints.response import TEXT, Header, Response, text_response
from watchkeeper.meta.field import go_quote
from watchkeeper.request.request import Request

log = logging.getLogger(__name__)

_NO_SNIFF: Header = (b"x-content-type-options", b"nosniff")
_ALL = ("healthz", "livez", "readyz")


class Unhealthy(Exception):
    """A check that fails; the message is for the log and for the check's own path."""


@dataclass(frozen=True, slots=True)
class Check:
    """A named check: returns, or awaits, and raises Unhealthy. `of` says which endpoints ask it.

    Who excludes `group` excludes all checks that are of it.
    """

    name: str
    run: Callable[[], Awaitable[None] | None]
    of: Sequence[str] = _ALL
    group: str = ""


def ping() -> None:
    """The check that only tells that there is somebody to ask."""


def log_is_written() -> None:
    """The check that what is logged can be written. Raises what a handler raises that cannot."""
    for handler in logging.getLogger().handlers:
        handler.flush()


PING = Check("ping", ping)
LOG = Check("log", log_is_written)


class Health:
    """Answers the health paths. Checks run in the order in which they were added."""

    def __init__(self) -> None:
        self._checks: list[Check] = [PING]
        self._last: dict[tuple[str, str], bool] = {}
        """By endpoint and check: whether it passed when it was last asked."""
        self._results: dict[tuple[str, str, bool], int] = {}
        """By endpoint, check, and whether it passed: how often that was so."""

    def __repr__(self) -> str:
        return f"<Health of {', '.join(check.name for check in self._checks)}>"

    def add(self, check: Check) -> None:
        """Ask one more thing."""
        self._checks.append(check)

    def answers(self, path: str) -> bool:
        """Whether a path is a health path."""
        return path.split("/", 2)[1] in _ALL

    def collect(self) -> Iterator[Family]:
        """How the checks went, as service-level indicators (KEP-3466)."""
        now = [Sample(int(passed), (("name", check), ("type", name))) for (name, check), passed in self._last.items()]
        ever = [
            Sample(count, (("name", check), ("status", "success" if passed else "error"), ("type", name)))
            for (name, check, passed), count in self._results.items()
        ]
        yield Family("kubernetes_healthcheck", "gauge", "Whether a check passed when it was last asked.", now)
        yield Family("kubernetes_healthchecks_total", "counter", "How often checks passed or failed.", ever)

    def paths(self) -> list[str]:
        """All health paths."""
        return [f"/{name}/{check.name}" for name in _ALL for check in self._of(name)]

    async def handle(self, request: Request) -> Response:
        """Answer /NAME and /NAME/CHECK."""
        name, _, one = request.path[1:].partition("/")
        if one or request.path.endswith("/"):
            return await self._one(name, one)
        lines, failed = await self._run_all(name, set(request.params.get("exclude", ())))
        if failed:
            log.warning("%s check failed: %s", name, ", ".join(failed))
            return text_response(500, f"{lines}{name} check failed\n")
        body = f"{lines}{name} check passed\n" if "verbose" in request.params else "ok"
        return Response(200, body.encode(), (TEXT, _NO_SNIFF))

    def _of(self, name: str) -> Iterator[Check]:
        return (check for check in self._checks if name in check.of)

    async def _one(self, name: str, wanted: str) -> Response:
        for check in self._of(name):
            if check.name == wanted:
                problem = await self._ask(name, check)
                if problem is not None:
                    return text_response(500, f"internal server error: {problem}\n")
                return Response(200, b"ok", (TEXT,))
        return text_response(404, "404 page not found\n")

    async def _run_all(self, name: str, excluded: set[str]) -> tuple[str, list[str]]:
        lines: list[str] = []
        failed: list[str] = []
        unknown = set(excluded)
        for check in self._of(name):
            if check.name in excluded:
                unknown.discard(check.name)
                lines.append(f"[+]{check.name} excluded: ok\n")
                continue
            if check.group in excluded and check.group:
                unknown.discard(check.group)
                lines.append(f"[+]{check.name} excluded with {check.group}: ok\n")
                continue
            problem = await self._ask(name, check)
            if problem is None:
                lines.append(f"[+]{check.name} ok\n")
            else:
                log.warning("%s: %s: %s", name, check.name, problem)
                lines.append(f"[-]{check.name} failed: reason withheld\n")
                failed.append(check.name)
        if unknown:
            names = ",".join(map(go_quote, sorted(unknown)))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
        return "".join(lines), failed

    async def _ask(self, name: str, check: Check) -> str | None:
        """What is wrong, None when nothing is; counted."""
        problem = await _problem(check)
        key = (name, check.name, problem is None)
        self._last[name, check.name] = problem is None
        self._results[key] = self._results.get(key, 0) + 1
        return problem


async def _problem(check: Check) -> str | None:
    """What is wrong, None when nothing is."""
    try:
        outcome = check.run()
        if inspect.isawaitable(outcome):
            await outcome
    except Unhealthy as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None

"""What /statusz and /flagz tell of a running server (KEP-4827, KEP-4828): text for people, data for programs."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from watchkeeper.endpoints.negotiation import JSON, YAML, clauses_of
from watchkeeper.endpoints.response import TEXT, Response
from watchkeeper.meta import errors
from watchkeeper.request.request import Request
from watchkeeper.runtime.yaml import dump_yaml
from watchkeeper.server.options import ServeOptions
from watchkeeper.server.version import KUBERNETES_MAJOR, KUBERNETES_MINOR, version_info

GROUP = "config.k8s.io"
_DEPRECATED = "v1alpha1"
_VERSIONS = (_DEPRECATED, "v1beta1")
_TEXT = "text/plain"
_NOT_FOR_PROGRAMS = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees"
    " and is for debugging purposes only."
)

Fields = Mapping[str, Any]


class _Page:
    """A page about the server, which takes any method and answers in the form that is asked for."""

    kind: str

    def handle(self, request: Request) -> Response:
        """Answer. Raises a 406."""
        media_type, version = self._form(request.header(b"accept") or "*/*")
        if media_type == _TEXT:
            return Response(200, self._text().encode(), (TEXT,))
        if version == _DEPRECATED:
            page = self.kind.lower()
            request.warn(f"This version of the {page} endpoint is deprecated. Please use a newer version.")
        head = {"kind": self.kind, "apiVersion": f"{GROUP}/{version}", "metadata": {"name": "apiserver"}}
        document = {**head, **self._fields()}
        said = f"{media_type};g={GROUP};v={version};as={self.kind}"
        if media_type == YAML:
            body = dump_yaml(document)
        else:
            body = orjson.dumps(document, option=orjson.OPT_INDENT_2)
        return Response(200, body, ((b"content-type", said.encode()),))

    def _form(self, accept: str) -> tuple[str, str]:
        """The media type to answer in and the version of the document, "" for text."""
        for media_type, params in clauses_of(accept):
            if media_type in (_TEXT, "*/*") and "as" not in params:
                return _TEXT, ""
            version = params.get("v", "")
            named = params.get("g") == GROUP and params.get("as") == self.kind and version in _VERSIONS
            if named and media_type in (JSON, YAML):
                return media_type, version
        raise errors.not_acceptable(f"only the following media types are accepted: {JSON}, {YAML}, {_TEXT}")

    def _fields(self) -> Fields:
        raise NotImplementedError

    def _text(self) -> str:
        raise NotImplementedError


class Statusz(_Page):
    """Since when the server runs, as what, and what pages it has."""

    kind = "Statusz"

    def __init__(self, pages: Sequence[str], *, clock: Callable[[], float] = time.time) -> None:
        """`pages` are the paths to tell of."""
        self._pages = sorted(pages)
        self._clock = clock
        self._started = clock()

    def _fields(self) -> Fields:
        info = version_info()
        return {
            "startTime": datetime.fromtimestamp(self._started, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "uptimeSeconds": int(self._clock() - self._started),
            "goVersion": info["goVersion"],
            "binaryVersion": info["gitVersion"].removeprefix("v").partition("+")[0],
            "emulationVersion": f"{KUBERNETES_MAJOR}.{KUBERNETES_MINOR}",
            "paths": self._pages,
        }

    def _text(self) -> str:
        fields = self._fields()
        minutes, seconds = divmod(fields["uptimeSeconds"], 60)
        hours, minutes = divmod(minutes, 60)
        started = datetime.fromtimestamp(self._started, UTC).strftime("%a %b %e %H:%M:%S UTC %Y")
        lines = [
            f"Started: {started}",
            f"Up: {hours} hr {minutes:02d} min {seconds:02d} sec",
            f"Go version: {fields['goVersion']}",
            f"Binary version: {fields['binaryVersion']}",
            f"Emulation version: {fields['emulationVersion']}",
            f"Paths: {' '.join(self._pages)}",
        ]
        return "\n".join(["", "apiserver statusz", _NOT_FOR_PROGRAMS, "", *lines, ""])


class Flagz(_Page):
    """What the server was told at its start; secrets are left out."""

    kind = "Flagz"

    def __init__(self, options: ServeOptions) -> None:
        self._flags = {
            field.name.replace("_", "-"): _shown(getattr(options, field.name))
            for field in sorted(dataclasses.fields(options), key=lambda field: field.name)
            if field.repr
        }

    def _fields(self) -> Fields:
        return {"flags": self._flags}

    def _text(self) -> str:
        lines = [f"{name}={value}" for name, value in self._flags.items()]
        return "\n".join(["", "apiserver flagz", _NOT_FOR_PROGRAMS, *lines, ""])


def _shown(value: object) -> str:
    """A value as flags spell it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{','.join(map(str, value))}]"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value)

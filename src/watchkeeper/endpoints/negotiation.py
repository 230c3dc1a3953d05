"""Content negotiation: which form of answer a client accepts, and in which form it sends.

Both are JSON, YAML or, for built-in kinds, protobuf. An `as=` parameter asks for a Table or for metadata only. Media
types are matched to the letter; `application/*` means nothing to the paths of built-in kinds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import go_bool
from watchkeeper.request.request import Request

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
ACCEPTED = (JSON, YAML, PROTOBUF)
STREAMS = ("application/json;stream=watch", f"{PROTOBUF};stream=watch")
_WATCHED = (*ACCEPTED, *STREAMS)
ANY = frozenset({"*/*", "application/*"})
"""The ranges that JSON is in."""
_TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_content_type = re.compile(
    rf"\s*({_TOKEN}/{_TOKEN})\s*(?:;\s*{_TOKEN}\s*=\s*(?:{_TOKEN}|\"(?:[^\"\\]|\\.)*\")\s*)*;?\s*"
).fullmatch
_TRANSFORMS = frozenset({"Table", "PartialObjectMetadata", "PartialObjectMetadataList"})
_META_VERSIONS = frozenset({"v1", "v1beta1"})
_SERVER_VERSION = "v1"
"""What `sv` may ask for where objects are served: the version of meta.k8s.io that options are read at."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The form to answer in. `target` is the kind to transform to, "" for the object itself."""

    media_type: str
    target: str = ""
    target_version: str = ""
    pretty: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is the object itself as compact JSON."""
        return self.media_type == JSON and not self.target and not self.pretty


PLAIN = Accepted(JSON)


def negotiate(
    request: Request,
    *,
    protobuf: bool,
    transforms: bool = True,
    tables: bool = True,
    named: bool | None = None,
    streams: bool = False,
    binary: bool = True,
) -> Accepted:
    """The form to answer a request in. Raises a 406 when the client accepts none.

    `protobuf` says whether what is asked for has a form in protobuf: built-in kinds have, of custom resources only the
    metadata; `binary` whether such a form can be sent at all.
    `transforms` says whether it may be transformed at all, `tables` whether into Tables, too; `named` whether a range
    of types is no answer to what is wanted, which is so wherever there is protobuf unless it is told. `streams` says
    whether what is asked for could also be watched, as a refusal tells.
    """
    header = request.header(b"accept")
    found: Accepted | None = PLAIN
    if header not in ("", JSON, "*/*"):
        if protobuf if named is None else named:
            require_named(header, _WATCHED if streams else ACCEPTED)
        found = accepted_form(header, transforms=transforms, tables=tables, protobuf=protobuf, binary=binary)
    if found is None:
        raise not_acceptable()
    if wants_pretty(request):
        found = Accepted(found.media_type, found.target, found.target_version, pretty=True)
    return found


def not_acceptable() -> ApiError:
    """406, naming what there is."""
    return errors.not_acceptable(f"only the following media types are accepted: {', '.join(ACCEPTED)}")


@lru_cache(maxsize=512)
def require_named(header: str, forms: tuple[str, ...]) -> None:
    """Raise a 406 unless an Accept header names one of the types that there are, or just anything.

    So have it the paths of built-in kinds, where a range of types is as good as none.
    """
    if any(clause.partition(";")[0].strip(" ") in ("*/*", *forms) for clause in header.split(",")):
        return
    error = errors.not_acceptable(f"406: Not Acceptable\n\nAvailable representations: {', '.join(forms)}")
    error.details = {}
    raise error


def wants_pretty(request: Request) -> bool:
    """Whether to indent: as `pretty` says, else for browsers and command-line HTTP tools."""
    if "pretty" in request.query:
        value = request.param("pretty")
        if value:
            return go_bool(value) is True
    agent = request.header(b"user-agent")
    return agent.startswith(("curl", "Wget", "Mozilla/5.0"))


@lru_cache(maxsize=512)
def accepted_form(
    header: str, *, transforms: bool, protobuf: bool, tables: bool = True, binary: bool = True
) -> Accepted | None:
    """The form that an Accept header likes best among those that there are, None when it likes none."""
    for media_type, params in clauses_of(header):
        if media_type in ANY:
            media_type = JSON
        if media_type not in ACCEPTED or (media_type == PROTOBUF and not binary):
            continue
        accepted = _with_params(media_type, params, transforms, tables and media_type != PROTOBUF)
        if accepted is not None and (protobuf or accepted.target or media_type != PROTOBUF):
            return accepted
    return None


@dataclass(frozen=True, slots=True)
class _Clause:
    """A media type or range that a client names, and how much it likes that."""

    media_type: str
    quality: float
    params: dict[str, str]


def clauses_of(header: str) -> list[tuple[str, dict[str, str]]]:
    """The media types and ranges of an Accept header with their parameters, those that the client likes best first."""
    clauses: list[_Clause] = []
    for text in header.split(","):
        clause = _parse(text)
        if clause is None:
            continue
        # `_before` is no order that a sort could go by, so each is inserted, as the reference does.
        at = len(clauses)
        while at and _before(clause, clauses[at - 1]):
            at -= 1
        clauses.insert(at, clause)
    return [(clause.media_type, clause.params) for clause in clauses]


def _before(one: _Clause, other: _Clause) -> bool:
    """Whether `one` goes first: it has more weight, or says more precisely what it wants, whatever its weight."""
    if one.quality > other.quality:
        return True
    if other.media_type.startswith("*/") and not one.media_type.startswith("*/"):
        return True
    return other.media_type.endswith("/*") and not one.media_type.endswith("/*")


@lru_cache(maxsize=512)
def media_ranges(header: str) -> tuple[str, ...]:
    """The media types and ranges of an Accept header, those that the client likes best first."""
    return tuple(media_type for media_type, _ in clauses_of(header))


def _parse(text: str) -> _Clause | None:
    """One clause, None for what names no media type. A weight that is no number counts as none at all."""
    head, *rest = text.strip(" ").split(";")
    main, _, sub = head.partition("/")
    if head == "*":
        sub = "*"
    if not sub or "/" in sub:
        return None
    quality, params = 1.0, {}
    for part in rest:
        key, _, value = part.partition("=")
        if not value or "=" in value:
            continue
        if key.strip(" ") == "q":
            quality = _weight(value)
        else:
            params[key.strip(" ")] = value.strip(" ")
    return _Clause(f"{main.strip(' ')}/{sub.strip(' ')}", quality, params)


def _weight(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0


def _with_params(media_type: str, params: dict[str, str], transforms: bool, tables: bool) -> Accepted | None:
    if params.get("sv") and (not transforms or params["sv"] != _SERVER_VERSION):
        return None
    stream = params.get("stream", "")
    if stream and (stream != "watch" or media_type == YAML):
        return None
    pretty = params.get("pretty") == "1"
    if not {"as", "g", "v"} & params.keys():
        return Accepted(media_type, pretty=pretty)
    kind, group, version = params.get("as", ""), params.get("g", ""), params.get("v", "")
    known = kind in _TRANSFORMS and group == "meta.k8s.io" and version in _META_VERSIONS
    if not transforms or not known or (kind == "Table" and not tables):
        return None
    return Accepted(media_type, kind, version, pretty)


def content_type(request: Request) -> str:
    """The media type of the body, without parameters; JSON when the client does not say, "" for what is malformed."""
    header = request.header(b"content-type")
    if header in ("", JSON):
        return JSON
    found = _content_type(header)
    return found[1].lower() if found is not None else ""


def require_body_type(request: Request, *, protobuf: bool) -> str:
    """The media type of a POST, PUT or DELETE body. Raises a 415 for what cannot be read.

    `protobuf` says whether what is sent has a form in protobuf: all but custom resources have.
    """
    found = content_type(request)
    if found in (JSON, YAML) or (protobuf and found == PROTOBUF):
        return found
    # Answers about custom resources may be in protobuf (tables, partial metadata), hence every kind is said to take it.
    readable = (JSON, YAML) if found == PROTOBUF else ACCEPTED
    raise errors.unsupported_media_type(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(readable)}"
    )

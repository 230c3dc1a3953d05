"""Content negotiation: which form of answer a client accepts, and in which form it sends.

Both are JSON, YAML or, for built-in kinds, protobuf. An `as=` parameter asks for a Table or for metadata only. Media
types are matched to the letter: the reference knows no `application/*`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.request.request import Request

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
ACCEPTED = (JSON, YAML, PROTOBUF)
STREAMS = ("application/json;stream=watch", f"{PROTOBUF};stream=watch")
_TRANSFORMS = frozenset({"Table", "PartialObjectMetadata", "PartialObjectMetadataList"})
_META_VERSIONS = frozenset({"v1", "v1beta1"})


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


def negotiate(request: Request, *, protobuf: bool, transforms: bool = True) -> Accepted:
    """The form to answer a request in. Raises a 406 when the client accepts none.

    `protobuf` says whether what is asked for has a form in protobuf: built-in kinds have, custom resources have not.
    """
    header = request.header(b"accept")
    found = PLAIN if header in ("", JSON, "*/*") else accepted_form(header, transforms=transforms, protobuf=protobuf)
    if found is None:
        raise not_acceptable()
    if wants_pretty(request):
        found = Accepted(found.media_type, found.target, found.target_version, pretty=True)
    return found


def negotiate_watch(request: Request, *, protobuf: bool) -> Accepted:
    """The form of a watch's events. Raises a 406 when the first choice cannot be streamed."""
    found = negotiate(request, protobuf=protobuf)
    if found.media_type == YAML:
        raise errors.not_acceptable(f"only the following media types are accepted: {', '.join(STREAMS)}")
    return found


def not_acceptable() -> ApiError:
    """406, naming what there is."""
    return errors.not_acceptable(f"only the following media types are accepted: {', '.join(ACCEPTED)}")


def wants_pretty(request: Request) -> bool:
    """Whether to indent: as `pretty` says, else for browsers and command-line HTTP tools."""
    if "pretty" in request.query:
        value = request.param("pretty")
        if value:
            return value in ("1", "t", "T", "true", "TRUE", "True")
    agent = request.header(b"user-agent")
    return agent.startswith(("curl", "Wget", "Mozilla/5.0"))


@lru_cache(maxsize=512)
def accepted_form(header: str, *, transforms: bool, protobuf: bool) -> Accepted | None:
    """The form that an Accept header likes best among those that there are, None when it likes none."""
    for media_type, params in _clauses(header):
        if media_type == "*/*":
            media_type = JSON
        if media_type not in (JSON, YAML) and not (protobuf and media_type == PROTOBUF):
            continue
        accepted = _with_params(media_type, params, transforms)
        if accepted is not None:
            return accepted
    return None


def _clauses(header: str) -> list[tuple[str, dict[str, str]]]:
    """The media types of a header with their parameters, those that the client likes best first."""
    clauses = []
    for index, clause in enumerate(header.split(",")):
        media_type, params = _parse(clause)
        try:
            quality = float(params.pop("q", "1") or "1")
        except ValueError:
            quality = 1.0
        clauses.append((-quality, index, media_type, params))
    clauses.sort(key=lambda c: c[:2])
    return [(media_type, params) for _, _, media_type, params in clauses]


@lru_cache(maxsize=512)
def media_ranges(header: str) -> tuple[str, ...]:
    """The media types and ranges of an Accept header, those that the client likes best first."""
    return tuple(media_type for media_type, _ in _clauses(header))


def _parse(clause: str) -> tuple[str, dict[str, str]]:
    head, *rest = (part.strip() for part in clause.split(";"))
    params = {}
    for part in rest:
        key, _, value = part.partition("=")
        params[key.strip()] = value.strip().strip('"')
    return head, params


def _with_params(media_type: str, params: dict[str, str], transforms: bool) -> Accepted | None:
    if params.get("sv"):
        return None
    stream = params.get("stream", "")
    if stream and (stream != "watch" or media_type == YAML):
        return None
    pretty = params.get("pretty") == "1"
    if not {"as", "g", "v"} & params.keys():
        return Accepted(media_type, pretty=pretty)
    kind, group, version = params.get("as", ""), params.get("g", ""), params.get("v", "")
    known = kind in _TRANSFORMS and group == "meta.k8s.io" and version in _META_VERSIONS
    if not transforms or not known:
        return None
    return Accepted(media_type, kind, version, pretty)


def content_type(request: Request) -> str:
    """The media type of the body, without parameters; JSON when the client does not say."""
    header = request.header(b"content-type")
    if header in ("", JSON):
        return JSON
    return header.partition(";")[0].strip().lower()


def require_body_type(request: Request, *, protobuf: bool) -> str:
    """The media type of a POST, PUT or DELETE body. Raises a 415 for what cannot be read.

    `protobuf` says whether the kind has a form in protobuf: built-in kinds have, custom resources have not.
    """
    found = content_type(request)
    if found in (JSON, YAML) or (protobuf and found == PROTOBUF):
        return found
    readable = ACCEPTED if protobuf else (JSON, YAML)
    raise errors.unsupported_media_type(
        f"the body of the request was in an unknown format - accepted media types include: {', '.join(readable)}"
    )

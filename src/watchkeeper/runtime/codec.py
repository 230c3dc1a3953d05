"""Between request bodies and objects: parsing, what kind a body says it is, decoding, defaults, strictness.

The order of checks and the words are those of the reference's codecs.
"""

from __future__ import annotations

import copy
import re
from dataclasses import field, replace
from typing import Any

import orjson

from watchkeeper.meta.errors import ApiError, bad_request, internal_error
from watchkeeper.meta.field import go_quote
from watchkeeper.meta.gvk import GroupVersion, GroupVersionKind
from watchkeeper.runtime.alike import MARK, KnownSpec, Specs
from watchkeeper.runtime.decode import decode_sent
from watchkeeper.runtime.json_text import HugeNumber, JsonError, number_as_written, read_as_written, read_json
from watchkeeper.runtime.repeated import Pairs, read_pairs, repeats_fields, settled
from watchkeeper.runtime.scheme import DecodeError, Kind, NotRegistered, Object, Scheme
from watchkeeper.runtime.strict import strict_errors, strict_text
from watchkeeper.runtime.unmarshal import TextWanted, check_repeated, described, unmarshal
from watchkeeper.runtime.utf8 import text_of
from watchkeeper.runtime.yaml import load_yaml, repeated_text
from watchkeeper.values import value

_SUMMARY_LENGTH = 30
_HEADER_TYPE = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_SCHEME_NAME = "pkg/api/legacyscheme/scheme.go:30"
"""How the reference names its scheme in errors."""
_OTHER_SCHEME_NAMES = {
    "apiextensions.k8s.io": "pkg/apiserver/apiserver.go:55",
    "apiregistration.k8s.io": "pkg/apiserver/scheme/scheme.go:28",
}
"""Of groups that have a scheme to themselves, in which no kinds of others are."""
_OPTIONS_SCHEME_NAME = "pkg/apis/meta/internalversion/scheme/register.go:27"
"""And the one that has options."""
_REFUSED_NUMBER = re.compile(r"(?<=^json: cannot unmarshal number )\S+(?= into Go )")
META_GROUP = "meta.k8s.io"
_META_VERSIONS = (GroupVersion(META_GROUP, "v1"), GroupVersion(META_GROUP, "v1beta1"))
_UNVERSIONED = frozenset({"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"})
"""Kinds that are one and the same at whatever version a body says."""
_UNVERSIONED_OPTIONS = _UNVERSIONED | {"CreateOptions", "UpdateOptions"}
"""The same where options are decoded; DeleteOptions are asked for."""
_META_LIST = "PartialObjectMetadataList"
_META_KINDS = {
    "v1": frozenset({"ListOptions", "GetOptions", "PatchOptions", "WatchEvent"}),
    "v1beta1": frozenset[str](),
}
_META_VIEWS = frozenset({"Table", "TableOptions", "PartialObjectMetadata", _META_LIST})


class OtherKind(DecodeError):
    """An object of another kind than the one that is wanted."""


@value()
class Decoded:
    """What a body is."""

    obj: Object
    """Decoded and defaulted at the version of `kind`, with kind and apiVersion set."""
    kind: Kind
    errors: list[str] = field(default_factory=list)
    """Unknown and repeated fields; empty unless looked for."""


def decode_body(scheme: Scheme, expected: Kind, body: bytes, *, yaml: bool = False, strict: bool = False) -> Decoded:
    """Decode a body where an object of `expected` should be. Raises ApiError (400) in the reference's words.

    What the body leaves out of kind and apiVersion is taken from `expected`. A body of another version of the same
    kind is decoded as that; `check_version` refuses it where it must be refused, which is after strict errors.
    """
    alike = _parse_alike(expected.specs, body) if expected.specs is not None and strict and not yaml else None
    huge: HugeNumber | None = None
    repeated: Pairs | list[str] | None = None
    try:
        try:
            parsed, repeated = (alike[0], None) if alike is not None else _parse(body, yaml=yaml)
        except HugeNumber as error:
            parsed, huge = read_as_written(body), error
        gvk = _said_kind(parsed, expected.gvk)
        if not expected.builtin and isinstance(parsed, dict):
            # How a field is spelled counts once the body is read as what it is.
            gvk = _completed(_text_of(parsed, "apiVersion"), _text_of(parsed, "kind"), expected.gvk)
    except ValueError as error:
        raise unrecognized(expected, body, str(error)) from None
    if not expected.builtin and not (isinstance(parsed, dict) and parsed.get("kind")):
        raise unrecognized(expected, body, f"Object 'Kind' is missing in '{body.decode(errors='replace')}'")
    if not expected.builtin and not parsed.get("apiVersion"):
        gvk = GroupVersionKind("", "", gvk.kind)
    if expected.builtin and not gvk.version:
        raise cannot_be_handled(gvk, expected, _unversioned(body))
    try:
        kind = _kind(scheme, expected, gvk)
        if alike is not None:
            if kind is expected:
                unknown: list[str] = []
                return Decoded(_around(kind, alike[1], parsed, unknown), kind, unknown)
            parsed, repeated = _parse(body, yaml=False)
        parsed = {} if parsed is None else parsed
        if huge is not None:
            return _decode_as_written(kind, expected, parsed, huge, strict=strict)
        try:
            return _decode(kind, expected, parsed, repeated, strict=strict, body=body, sent=not yaml and not repeated)
        except TextWanted:
            return _decode_as_written(kind, expected, read_as_written(body), None, strict=strict)
    except (DecodeError, NotRegistered) as error:
        why = _not_registered(error, expected) if isinstance(error, NotRegistered) else str(error)
        if not yaml and isinstance(error, DecodeError):
            why = _as_written(body, why)
        raise cannot_be_handled(gvk, expected, why) from None


def wrong_kind(scheme: Scheme, expected: Kind, parsed: Any, *, alone: str = "") -> str:
    """Why a JSON value is no object of a kind by what it says of itself, "" if it is one or does not say.

    `alone` names a scheme of the reference that has no other kinds.
    """
    try:
        gvk = _said_kind(_in_order(parsed), expected.gvk)
        if alone and gvk != expected.gvk:
            return f'{NotRegistered(gvk)} in scheme "{alone}"'
        kind = _kind(scheme, expected, gvk)
        if kind is not expected:
            _decode(kind, expected, copy.deepcopy(parsed), None, strict=False)
            raise NotRegistered(gvk)
    except NotRegistered as error:
        return _not_registered(error, expected)
    except (DecodeError, ValueError) as error:
        return str(error)
    return ""


def decode_as_said(scheme: Scheme, expected: Kind, parsed: Any) -> Object:
    """A JSON value decoded as what it says it is, which may be another version of `expected`; no defaults.

    Raises DecodeError, which is OtherKind for what can never be an object of `expected`.
    """
    try:
        kind = _kind(scheme, expected, _said_kind(_in_order(parsed), expected.gvk))
    except NotRegistered as error:
        raise DecodeError(_not_registered(error, expected)) from error
    except ValueError as error:
        raise DecodeError(str(error)) from error
    obj = kind.decode({} if parsed is None else parsed, None)
    obj["kind"], obj["apiVersion"] = kind.gvk.kind, kind.gvk.api_version
    _check_convertible(kind, expected)
    return obj


def _check_convertible(kind: Kind, expected: Kind) -> None:
    if kind.hub.group_kind != expected.hub.group_kind:
        raise OtherKind(f"converting ({kind.schema.go_type}) to ({internal_name(expected)}): unknown conversion")


def _not_registered(error: NotRegistered, expected: Kind) -> str:
    return f'{error} in scheme "{_OTHER_SCHEME_NAMES.get(expected.gvk.group, _SCHEME_NAME)}"'


def decode_options(expected: Kind, body: bytes, *, yaml: bool = False) -> Object:
    """Decode options that may be sent at any version, of any group. Raises ApiError (400) in the reference's words."""
    huge = False
    try:
        try:
            parsed, repeated = _parse(body, yaml=yaml)
        except HugeNumber:
            parsed, repeated, huge = read_as_written(body), None, True
        gvk = _said_kind(parsed, GroupVersionKind(META_GROUP, "v1", expected.gvk.kind))
        if not gvk.version:
            raise DecodeError(_unversioned(body))
        if gvk.kind != expected.gvk.kind:
            raise OtherKind(f"converting ({_meta_type(gvk)}) to (v1.{expected.gvk.kind}): unknown conversion")
        if huge:
            return _decode_as_written(expected, expected, parsed, None, strict=False).obj
        return _decode(expected, expected, {} if parsed is None else parsed, repeated, strict=False).obj
    except NotRegistered as error:
        raise bad_request(f'{error} in scheme "{_OPTIONS_SCHEME_NAME}"') from None
    except (DecodeError, ValueError) as error:
        raise bad_request(str(error) if yaml else _as_written(body, str(error))) from None


def _unversioned(body: bytes) -> str:
    return f"Object 'apiVersion' is missing in '{body.decode(errors='replace')}'"


def _as_written(body: bytes, why: str) -> str:
    """An error with the number that it quotes as the body has it."""
    return _REFUSED_NUMBER.sub(lambda shown: number_as_written(body, shown[0]), why, count=1)


def _meta_type(gvk: GroupVersionKind) -> str:
    """The Go type of a kind where options are decoded. Raises NotRegistered for what is not known there."""
    known = _META_KINDS.get(gvk.version, frozenset()) | _META_VIEWS if gvk.group_version in _META_VERSIONS else ()
    if gvk.kind not in _UNVERSIONED_OPTIONS and gvk.kind not in known:
        raise NotRegistered(gvk)
    return f"{gvk.version if gvk.kind == _META_LIST else 'v1'}.{gvk.kind}"


def check_strict(decoded: Decoded, expected: Kind) -> None:
    """Refuse a body with strict errors. Raises ApiError (400)."""
    if decoded.errors:
        raise cannot_be_handled(decoded.kind.gvk, expected, strict_text(decoded.errors))


def check_version(decoded: Decoded, expected: Kind) -> None:
    """Refuse a body of another version than the request's, unless the kind accepts that. Raises ApiError (400)."""
    found, wanted = decoded.kind.gvk.group_version, expected.gvk.group_version
    if decoded.kind.gvk.api_version in expected.accepts:
        decoded.obj["apiVersion"] = expected.gvk.api_version
    elif found != wanted:
        raise bad_request(f"the API version in the data ({found}) does not match the expected API version ({wanted})")


def cannot_be_handled(found: GroupVersionKind, expected: Kind, why: str) -> ApiError:
    """400: a body that says what it is, but cannot be used."""
    return bad_request(
        f"{found.kind} in version {go_quote(found.version)} cannot be handled as a {expected.gvk.kind}: {why}"
    )


def encode(obj: Object) -> bytes:
    """JSON of an object, beginning with kind, apiVersion and metadata."""
    head = {name: obj[name] for name in ("kind", "apiVersion", "metadata") if name in obj}
    return orjson.dumps(head | obj)


def _parse(body: bytes, *, yaml: bool) -> tuple[Any, Pairs | list[str] | None]:
    """The JSON value of a body, and what tells of fields that it sets twice, if it may do so."""
    if yaml:
        lines: list[str] = []
        return load_yaml(body, lines), lines
    try:
        parsed = read_json(body)
    except HugeNumber:
        raise
    except JsonError as error:
        raise _header_error(str(error)) from None
    if isinstance(parsed, dict) and repeats_fields(body, parsed):
        pairs: Pairs = read_pairs(body)
        return parsed, pairs
    return parsed, None


def _parse_alike(specs: Specs, body: bytes) -> tuple[Object, KnownSpec] | None:
    """What stands around a spec that is known; None for a body that has to be read whole.

    Escapes that could spell the mark make it look as if fields were repeated.
    """
    found = specs.recognize(body)
    if found is None:
        return None
    try:
        parsed = read_json(found.rest)
    except JsonError:
        return None
    if parsed.__class__ is not dict or parsed.get("spec") != MARK or repeats_fields(found.rest, parsed):
        return None
    return parsed, found.known


def _said_kind(parsed: Any, default: GroupVersionKind) -> GroupVersionKind:
    """What a body says it is, in whatever case it spells the fields, completed by a default. Raises ValueError."""
    if parsed is None:
        return default
    if not isinstance(parsed, dict):
        raise _header_mismatch(parsed, f"Go value of type {_HEADER_TYPE}")
    names = " ".join(parsed).casefold()
    if names.count("kind") == ("kind" in parsed) and names.count("apiversion") == ("apiVersion" in parsed):
        return _completed(_text_of(parsed, "apiVersion"), _text_of(parsed, "kind"), default)  # spelled as ever
    return _completed(said(parsed, "apiVersion"), said(parsed, "kind"), default)


def _in_order(parsed: Any) -> Any:
    """A JSON value with its fields as they come when it is written: the last spelling of one is what counts."""
    return dict(sorted(parsed.items())) if isinstance(parsed, dict) else parsed


def _completed(api_version: str, kind: str, default: GroupVersionKind) -> GroupVersionKind:
    if kind == default.kind and api_version == default.api_version:
        return default
    group, version = GroupVersion.parse(api_version) if api_version != "/" else ("", "")
    if not version and group in ("", default.group):
        group, version = default.group, default.version
    return GroupVersionKind(group, version, kind or default.kind)


def check_said_kind(parsed: Object, shown: str) -> None:
    """Refuse a patched custom object that does not say what it is; `shown` is its JSON.

    Raises ValueError, and ApiError (500) for one without an apiVersion, which the reference notices later.
    """
    api_version, kind = _text_of(parsed, "apiVersion"), _text_of(parsed, "kind")
    if not kind:
        raise ValueError(f"Object 'Kind' is missing in '{shown}'")
    if not api_version:
        raise internal_error("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    GroupVersion.parse(api_version)


def said_kind(parsed: Any) -> GroupVersionKind:
    """What a JSON value that should be a custom object says it is. Raises ValueError when it does not say its kind."""
    if not isinstance(parsed, dict):
        raise _header_mismatch(parsed, f"Go value of type {_HEADER_TYPE}")
    api_version, kind = _text_of(parsed, "apiVersion"), _text_of(parsed, "kind")
    if not kind:
        raise ValueError(f"Object 'Kind' is missing in '{orjson.dumps(parsed, option=orjson.OPT_SORT_KEYS).decode()}'")
    return GroupVersionKind(*GroupVersion.parse(api_version), kind)


def said(parsed: Object, name: str) -> str:
    """What the last field of a name says that is not null, in whatever case it is spelled. Raises JsonError."""
    folded, found = name.casefold(), ""
    for key, text in parsed.items():
        if (key == name or (len(key) == len(name) and key.casefold() == folded)) and text is not None:
            found = _text(text, name)
    return found


def _text_of(parsed: Object, name: str) -> str:
    value = parsed.get(name)
    return "" if value is None else _text(value, name)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise _header_mismatch(value, f"Go struct field .{name} of type string")
    return value


def _header_mismatch(value: Any, where: str) -> JsonError:
    return _header_error(f"json: cannot unmarshal {described(value)} into {where}")


def _header_error(why: str) -> JsonError:
    """Kind and version are looked for first, so they are what a broken body fails."""
    return JsonError(f"couldn't get version/kind; json parse error: {why}")


def _kind(scheme: Scheme, expected: Kind, gvk: GroupVersionKind) -> Kind:
    """The kind to decode a body as. Raises NotRegistered."""
    if gvk == expected.gvk:
        return expected
    if not expected.builtin:
        # Custom resources are read whatever they say they are; validation tells what they should be.
        return _as_sent(expected, gvk)
    if gvk.kind in _UNVERSIONED:
        return replace(scheme.kind(GroupVersionKind("", "v1", gvk.kind)), gvk=gvk)
    if gvk.group == META_GROUP:
        raise NotRegistered(gvk)  # what others may ask for, but not send
    if gvk.group != expected.gvk.group and not _OTHER_SCHEME_NAMES.keys().isdisjoint((gvk.group, expected.gvk.group)):
        raise NotRegistered(gvk)
    if gvk.kind == expected.gvk.kind and gvk.api_version in expected.retired and not scheme.recognizes(gvk):
        return replace(expected, gvk=gvk)
    return scheme.kind(gvk)


def _as_sent(expected: Kind, gvk: GroupVersionKind) -> Kind:
    decode = expected.decode if gvk.group_kind == expected.gvk.group_kind else _keep
    return Kind(gvk=gvk, hub=gvk, schema=expected.schema, decode=decode, builtin=False)


def _keep(obj: Object, unknown: list[str] | None) -> Object:
    return obj


def _decode_as_written(kind: Kind, expected: Kind, parsed: Any, huge: HugeNumber | None, *, strict: bool) -> Decoded:
    """Decode what has numbers that are more than their value. Raises DecodeError."""
    if not kind.builtin and huge is not None:
        raise DecodeError(str(huge))
    unknown: list[str] = []
    obj = _named(kind, unmarshal(kind.schema, parsed, unknown if strict else None, guesses=False))
    _check_convertible(kind, expected)
    return Decoded(obj, kind, unknown)


def _decode(
    kind: Kind,
    expected: Kind,
    parsed: Any,
    repeated: Pairs | list[str] | None,
    *,
    strict: bool,
    body: bytes = b"",
    sent: bool = False,
) -> Decoded:
    """`sent`: whether numbers can be looked up in the body; then TextWanted is raised for a quantity that is one."""
    if isinstance(repeated, Pairs) and kind.builtin:
        check_repeated(kind.schema, repeated)
        parsed = settled(kind.schema, repeated)
    unknown: list[str] = []
    if kind.specs is not None and strict and repeated is None:
        obj = _decode_alike(kind, kind.specs, parsed, unknown, body, sent=sent)
    else:
        obj = _complete(kind, parsed, unknown if strict else None, sent=sent)
    if expected.builtin:
        _check_convertible(kind, expected)
    if unknown and (known := expected.retired.get(kind.gvk.api_version)):
        unknown = [text for text in unknown if re.fullmatch(f'unknown field "(?:{known})"', text) is None]
    return Decoded(obj, kind, _strict_errors(kind, unknown, repeated) if strict else [])


def _complete(kind: Kind, parsed: Any, unknown: list[str] | None, *, sent: bool = False) -> Object:
    """A parsed body decoded and defaulted."""
    if sent and kind.builtin:
        return _named(kind, decode_sent(kind.schema, parsed, unknown))
    return _named(kind, kind.decode(parsed, unknown))


def _named(kind: Kind, obj: Object) -> Object:
    """A decoded object with its kind and version, defaulted."""
    obj["kind"], obj["apiVersion"] = kind.gvk.kind, kind.gvk.api_version
    if kind.default is not None:
        kind.default(obj)
    return obj


def _decode_alike(kind: Kind, specs: Specs, parsed: Object, unknown: list[str], body: bytes, *, sent: bool) -> Object:
    """The same, where the spec need not be looked at if one like it was."""
    spec = parsed.get("spec")
    key = specs.key(spec) if spec.__class__ is dict else None
    if key is None:
        return _complete(kind, parsed, unknown, sent=sent)
    known = specs.find(key)
    if known is None:
        obj = _complete(kind, parsed, unknown, sent=sent)
        if not unknown:
            specs.add(key, obj["spec"])
        return obj
    specs.learn(body, key, known)
    return _around(kind, known, parsed, unknown)


def _around(kind: Kind, known: KnownSpec, parsed: Object, unknown: list[str]) -> Object:
    """The same for a spec that is known, which is not looked at."""
    assert kind.specs is not None
    del parsed["spec"]
    obj = kind.decode(parsed, unknown)
    obj["kind"], obj["apiVersion"] = kind.gvk.kind, kind.gvk.api_version
    obj["spec"] = kind.specs.give(known)
    kind.specs.default_rest(obj)
    return obj


def _strict_errors(kind: Kind, unknown: list[str], repeated: Pairs | list[str] | None) -> list[str]:
    """Unknown and repeated fields in one list."""
    if not repeated:
        return unknown
    if not isinstance(repeated, Pairs):
        return [repeated_text(repeated), *unknown]
    if kind.builtin:
        return strict_errors(kind.schema, repeated)
    return [*strict_errors(None, repeated), *unknown]


def internal_name(kind: Kind) -> str:
    """What the reference calls the hub type of a kind in Go, such as `core.ConfigMap`."""
    group = kind.hub.group.partition(".")[0]
    return f"{group or 'core'}.{kind.hub.kind}"


def unrecognized(expected: Kind, body: bytes, why: str) -> ApiError:
    """400: a body that does not even say what it is."""
    if not body:
        summary = "<empty>"
    else:
        shown = body[:_SUMMARY_LENGTH]
        summary = text_of(shown) if body[:1] == b"{" else shown.hex()
        if len(body) > _SUMMARY_LENGTH:
            summary += " ..."
    kind = expected.gvk.kind
    return bad_request(f"the object provided is unrecognized (must be of type {kind}): {why} ({summary})")

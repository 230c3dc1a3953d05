"""Representations: how objects, lists and events are written for a client.

The plain representation at the hub version is the bytes that are stored: nothing is parsed. All others are made on
demand from the object's dict; watch frames of every representation are kept with the event and shared by all watchers.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import orjson

from watchkeeper.apis.protobuf import protobuf_of
from watchkeeper.endpoints.negotiation import PROTOBUF, YAML, Accepted
from watchkeeper.endpoints.response import Response
from watchkeeper.endpoints.scope import Scope
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.registry.errors import to_api_error
from watchkeeper.registry.rest import Result
from watchkeeper.registry.table import DEFAULT_TABLE, partial_metadata, row
from watchkeeper.runtime.codec import internal_name
from watchkeeper.runtime.json_text import with_digits
from watchkeeper.runtime.protobuf_writer import write_frame
from watchkeeper.runtime.yaml import dump_yaml
from watchkeeper.storage.errors import CorruptObject, CorruptObjects, StorageError
from watchkeeper.storage.interface import EventType, ListResult, StoredObject, WatchEvent

Object = dict[str, Any]
INITIAL_EVENTS_END = "k8s.io/initial-events-end"
PROTOBUF_HEADER = (b"content-type", PROTOBUF.encode())
YAML_HEADER = (b"content-type", b"application/yaml")


def _dumps_custom(value: Any) -> bytes:
    return with_digits(orjson.dumps(value))


class EventWriter(ABC):
    """Writes the events of a watch."""

    @abstractmethod
    def event(self, event: WatchEvent, *, first: bool = False) -> bytes:
        """The frame of an event, made once for all watchers of this form. `first`: nothing was written before it."""

    def added(self, items: list[StoredObject], *, first: bool = False) -> bytes:
        """The frames of objects that a watch begins with, joined; nothing is kept of them."""
        events = (WatchEvent(EventType.ADDED, item) for item in items)
        return b"".join([self.event(event, first=first and not i) for i, event in enumerate(events)])


class Renderer(EventWriter):
    """Writes the object itself as JSON, at the scope's version."""

    keeps_empty_continue = True
    """Whether the metadata of a list of custom objects has `continue` even when there is nothing to go on with."""

    def __init__(self, scope: Scope, accepted: Accepted) -> None:
        self.scope = scope
        self.accepted = accepted
        self.shows_stored = scope.is_hub
        """Whether objects are written as the bytes that are stored."""
        gvk = scope.kind.gvk
        self.key: Hashable = ("object", gvk)
        self.head = b'{"kind":%b,"apiVersion":%b,' % (orjson.dumps(gvk.kind), orjson.dumps(gvk.api_version))
        self.item_head = b"{" if scope.kind.builtin else self.head
        self.dumps = orjson.dumps if scope.kind.builtin else _dumps_custom
        """Writes what may hold numbers of a custom object as kube-apiserver does."""
        self._separator = b"," + self.item_head
        self._added = b'{"type":"ADDED","object":' + self.head

    # -- one object -------------------------------------------------------------------------------------------

    def one(self, result: Result) -> bytes:
        """One object, or a Status, as compact JSON."""
        if isinstance(result, StoredObject):
            if self.shows_stored:
                return result.head + result.tail
            return self.remembered(result, self.key, lambda: self.dumps(self.versioned(result)))
        return self.dumps(self._versioned_dict(result))

    def remembered(self, stored: StoredObject, form: Hashable, make: Callable[[], bytes]) -> bytes:
        """An object in a form, made if nobody has asked for it lately."""
        encodings = self.scope.services.encodings
        found = encodings.get(stored.tail, form)
        if found is None:
            found = make()
            encodings.put(stored.tail, form, found)
        return found

    def versioned(self, stored: StoredObject) -> Object:
        """The object as a dict at the scope's version."""
        return self._versioned_dict(stored.data())

    def _versioned_dict(self, obj: Object) -> Object:
        scope = self.scope
        if scope.is_hub or obj.get("kind") != scope.hub.kind:
            return obj
        return scope.services.scheme.convert(dict(obj), scope.kind.gvk)

    # -- a list -----------------------------------------------------------------------------------------------

    def list_head(self, result: ListResult) -> bytes:
        """The list up to and including the bracket that opens its items."""
        gvk = self.scope.kind.gvk
        meta = orjson.dumps(self.list_metadata(result))
        name = self.scope.behavior.extra.get("list_kind") or f"{gvk.kind}List"
        kind, version = orjson.dumps(name), orjson.dumps(gvk.api_version)
        return b'{"kind":%b,"apiVersion":%b,"metadata":%b,"items":[' % (kind, version, meta)

    def list_metadata(self, result: ListResult) -> Object:
        """ListMeta."""
        meta: Object = {"resourceVersion": str(result.resource_version)} if result.resource_version else {}
        if result.continue_token or (self.keeps_empty_continue and not self.scope.kind.builtin):
            meta["continue"] = result.continue_token
        if result.remaining is not None and result.continue_token:
            meta["remainingItemCount"] = result.remaining
        return meta

    def list_items(self, items: list[StoredObject], *, first: bool) -> bytes:
        """Some items of a list, each after a comma unless it is the first of all."""
        if not items:
            return b""
        if self.shows_stored:
            tails = [item.tail for item in items]
            if first:
                tails[0] = self.item_head + tails[0]
            else:
                tails.insert(0, b"")
            return self._separator.join(tails)
        joined = b",".join([self._item(item) for item in items])
        return joined if first else b"," + joined

    def ordered(self, items: list[StoredObject]) -> list[StoredObject]:
        """The items of a list in the order in which they are shown."""
        return items

    def _item(self, item: StoredObject) -> bytes:
        return self.remembered(item, ("item", self.key), lambda: self._make_item(item))

    def _make_item(self, item: StoredObject) -> bytes:
        obj = self.versioned(item)
        if self.scope.kind.builtin:
            obj.pop("kind", None)
            obj.pop("apiVersion", None)
        return orjson.dumps(obj)

    def list_tail(self) -> bytes:
        """What closes a list."""
        return b"]}\n"

    def empty_list(self, result: ListResult) -> bytes:
        """A list without items."""
        return self.list_head(result) + self.list_tail()

    def _null_list(self, result: ListResult) -> bytes:
        """A list without items where the reference collects them in a list that nothing was put into: null."""
        return self.list_head(result)[:-1] + b"null}\n"

    # -- events -----------------------------------------------------------------------------------------------

    def event(self, event: WatchEvent, *, first: bool = False) -> bytes:
        """One event as a line of JSON; made once for all watchers of this representation."""
        key = self.event_key(first)
        frame = event.encodings.get(key)
        if frame is None:
            frame = event.encodings[key] = self._frame(event, first)
        return frame

    def added(self, items: list[StoredObject], *, first: bool = False) -> bytes:
        """Objects that a watch begins with, a line each."""
        if not (items and self.shows_stored):
            return super().added(items, first=first)
        tails = [item.tail for item in items]
        tails[0] = self._added + tails[0]
        tails[-1] += b"}\n"
        return (b"}\n" + self._added).join(tails)

    def event_key(self, first: bool) -> Hashable:
        """Under which key an event keeps its frame."""
        return self.key

    def _frame(self, event: WatchEvent, first: bool) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (event.type.encode(), self.shown(event, first))

    def shown(self, event: WatchEvent, first: bool) -> bytes:
        """What an event shows, as compact JSON; `first`: the event is the first of its watch."""
        if event.type is EventType.ERROR:
            return orjson.dumps(_status_of(event, self.scope))
        if event.type is EventType.BOOKMARK:
            return orjson.dumps(self.bookmark(event, first))
        assert event.object is not None
        return self.event_object(event.object, first)

    def event_object(self, stored: StoredObject, first: bool) -> bytes:
        """The object of an event."""
        return self.one(stored)

    def bookmark(self, event: WatchEvent, first: bool) -> Object:
        """The object of a bookmark: of the kind, with nothing but a version (and the mark that ends initial events)."""
        scope = self.scope
        gvk = scope.kind.gvk
        meta = bookmark_metadata(event)
        body: Object = {"kind": gvk.kind, "apiVersion": gvk.api_version, "metadata": meta}
        if not scope.kind.builtin:
            return body
        obj = scope.kind.decode(body, None)
        if scope.behavior.fill_blank is not None:
            scope.behavior.fill_blank(obj)
        return obj


class ProtobufEvents(EventWriter):
    """Writes the events of a watch in protobuf, each frame after its length."""

    def __init__(self, renderer: Renderer) -> None:
        """`renderer` writes what the events show."""
        self._renderer = renderer

    def event(self, event: WatchEvent, *, first: bool = False) -> bytes:
        """The frame of an event, made once for all watchers of this form."""
        key = ("protobuf", self._renderer.event_key(first))
        frame = event.encodings.get(key)
        if frame is None:
            shown = orjson.loads(self._renderer.shown(event, first))
            frame = event.encodings[key] = write_frame(event.type, protobuf_of(shown))
        return frame


class MetadataRenderer(Renderer):
    """Writes PartialObjectMetadata."""

    keeps_empty_continue = False

    def __init__(self, scope: Scope, accepted: Accepted) -> None:
        super().__init__(scope, accepted)
        self.shows_stored = False
        self.version = accepted.target_version
        self.key = ("metadata", self.version)

    def one(self, result: Result) -> bytes:
        """The metadata of an object; a Status as it is. Raises a 406 when a list was asked for."""
        obj = result.data() if isinstance(result, StoredObject) else result
        if obj.get("kind") == "Status":
            return orjson.dumps(obj)
        if self.accepted.target == "PartialObjectMetadataList":
            if not self.scope.kind.builtin:
                raise ApiError(500, "", "content is not a list")
            raise errors.not_acceptable(
                f"you requested PartialObjectMetadataList, but the requested object is not a list ({self._go_type()})"
            )
        return orjson.dumps(self._partial(obj))

    def list_head(self, result: ListResult) -> bytes:
        """PartialObjectMetadataList up to its items. Raises a 406 when one object was asked for."""
        if self.accepted.target == "PartialObjectMetadata":
            raise errors.not_acceptable(
                f"you requested PartialObjectMetadata, but the requested object is a list ({self._go_type()}List)"
            )
        meta = orjson.dumps(self.list_metadata(result))
        version = f"meta.k8s.io/{self.version}".encode()
        return b'{"kind":"PartialObjectMetadataList","apiVersion":"%b","metadata":%b,"items":[' % (version, meta)

    def empty_list(self, result: ListResult) -> bytes:
        """A list without items, which has null for them."""
        return self._null_list(result)

    def _go_type(self) -> str:
        kind = self.scope.kind
        if self.scope.of_custom:
            return f"*{kind.gvk.version}.{kind.gvk.kind}" if kind.builtin else "*unstructured.Unstructured"
        return f"*{internal_name(kind)}"

    def list_items(self, items: list[StoredObject], *, first: bool) -> bytes:
        """Some items; each says its kind."""
        joined = b",".join([self.event_object(item, first) for item in items])
        return joined if first or not joined else b"," + joined

    def event_object(self, stored: StoredObject, first: bool) -> bytes:
        """The metadata of an object in a list or watch, whichever of both kinds was asked for."""
        return self.remembered(stored, self.key, lambda: orjson.dumps(self._partial(stored.data())))

    def _partial(self, obj: Object) -> Object:
        return partial_metadata(obj, self.version, self.scope.behavior.annotations_of_fields)

    def bookmark(self, event: WatchEvent, first: bool) -> Object:
        """A bookmark is PartialObjectMetadata too."""
        return partial_metadata({"metadata": bookmark_metadata(event)}, self.version)


class TableRenderer(Renderer):
    """Writes Tables."""

    keeps_empty_continue = False

    def __init__(self, scope: Scope, accepted: Accepted, include: str) -> None:
        super().__init__(scope, accepted)
        self.shows_stored = False
        self.version = accepted.target_version
        self.include = include or "Metadata"
        self.key = ("table", self.version, self.include, scope.kind.gvk)
        self.spec = scope.behavior.table or DEFAULT_TABLE
        self._columns = [c.definition() for c in self.spec.columns]

    def event_key(self, first: bool) -> Hashable:
        """The first event of a watch carries the columns: another frame."""
        return (self.key, first)

    def _row(self, obj: Object, versioned: Object | None = None) -> Object:
        shown: Object | None
        if self.include == "None":
            shown = None
        elif self.include == "Object":
            shown = self._versioned_dict(versioned if versioned is not None else dict(obj))
        else:
            shown = partial_metadata(obj, self.version, self.scope.behavior.annotations_of_fields)
        return row(obj, self.spec, time.time(), shown)

    def _table(self, rows: list[Object], meta: Object, columns: list[Object] | None) -> Object:
        return {
            "kind": "Table",
            "apiVersion": f"meta.k8s.io/{self.version}",
            "metadata": meta,
            "columnDefinitions": columns,
            "rows": rows,
        }

    def one(self, result: Result) -> bytes:
        """A table of one row; a Status as it is."""
        obj = result.data() if isinstance(result, StoredObject) else result
        if obj.get("kind") == "Status":
            return orjson.dumps(obj)
        version = obj["metadata"].get("resourceVersion")
        meta = {"resourceVersion": version} if version else {}
        return self.dumps(self._table([self._row(obj)], meta, self._columns))

    def list_head(self, result: ListResult) -> bytes:
        """The table up to its rows."""
        table = self._table([], self.list_metadata(result), self._columns)
        return orjson.dumps(table)[:-2]

    def list_items(self, items: list[StoredObject], *, first: bool) -> bytes:
        """Some rows."""
        joined = b",".join([self.dumps(self._row(item.data())) for item in items])
        return joined if first or not joined else b"," + joined

    def ordered(self, items: list[StoredObject]) -> list[StoredObject]:
        """The items in the kind's own order, where it has one."""
        order = self.spec.order
        return items if order is None else sorted(items, key=lambda item: order(item.data()))

    def empty_list(self, result: ListResult) -> bytes:
        """A table without rows: null for kinds without columns of their own."""
        return self._null_list(result) if self.spec is DEFAULT_TABLE else super().empty_list(result)

    def event_object(self, stored: StoredObject, first: bool) -> bytes:
        """A table of one row; only the first of a watch has columns."""
        obj = stored.data()
        meta = {"resourceVersion": str(stored.resource_version)}
        return self.dumps(self._table([self._row(obj)], meta, self._columns if first else None))

    def bookmark(self, event: WatchEvent, first: bool) -> Object:
        """A table of one row for an object that has only a version."""
        gvk = self.scope.kind.gvk
        meta = bookmark_metadata(event)
        empty: Object = {"kind": gvk.kind, "apiVersion": gvk.api_version, "metadata": meta}
        obj = self.scope.kind.decode(empty, None) if self.scope.kind.builtin else empty
        shown = self._row(obj)
        if shown["object"] is None and event.initial_events_end:
            # The mark is in the row's object: it is sent to those, too, who asked for none.
            shown["object"] = partial_metadata(obj, self.version)
        table_meta = {"resourceVersion": meta["resourceVersion"]}
        return self._table([shown], table_meta, self._columns if first else None)


def bookmark_metadata(event: WatchEvent) -> Object:
    """The metadata of a bookmark's object."""
    meta: Object = {"resourceVersion": str(event.resource_version)}
    if event.initial_events_end:
        meta["annotations"] = {INITIAL_EVENTS_END: "true"}
    return meta


def _status_of(event: WatchEvent, scope: Scope) -> Object:
    error = event.error
    if isinstance(error, StorageError):
        error = to_api_error(error, scope.info.group_resource, "", "watch")
    if not isinstance(error, ApiError):
        error = errors.internal_error(str(error))
    return error.status()


def no_protobuf(go_type: str) -> ApiError:
    """The 406 for what the Go types cannot write in protobuf."""
    return errors.not_acceptable(
        f"object {go_type} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf "
        "message"
    )


def renderer_for(scope: Scope, accepted: Accepted, include: str = "") -> Renderer:
    """The renderer of a form, made once per scope. Raises a 400 for an unknown `includeObject`."""
    key = (accepted.target, accepted.target_version, include)
    found = scope.renderers.get(key)
    if found is None:
        found = scope.renderers[key] = _make(scope, accepted, include)
    return found


def _make(scope: Scope, accepted: Accepted, include: str) -> Renderer:
    if accepted.target == "Table":
        if include not in ("", "None", "Metadata", "Object"):
            wrong = f"includeObject: Invalid value: \"{include}\": must be 'Metadata', 'Object', 'None', or empty"
            raise errors.bad_request(f"Unable to convert to Table as requested: {wrong}")
        return TableRenderer(scope, accepted, include)
    if accepted.target:
        return MetadataRenderer(scope, accepted)
    return Renderer(scope, accepted)


def name_broken(problem: Exception, scope: Scope, verb: str, items: Iterable[StoredObject]) -> None:
    """Raise an error that names a broken object if that is why stored ones could not be written."""
    for item in () if isinstance(problem, ApiError) else items:
        try:
            item.prove()
        except StorageError as error:
            told = CorruptObjects([error]) if verb == "list" and isinstance(error, CorruptObject) else error
            raise to_api_error(told, scope.info.gvr.group_resource, "", verb) from error


def finish(body: bytes, accepted: Accepted, status: int = 200) -> Response:
    """A response with a JSON body in the form asked for. Raises a 406 for what has no form in protobuf: Tables."""
    if accepted.media_type == PROTOBUF:
        obj = orjson.loads(body)
        if obj.get("kind") == "Table":
            raise no_protobuf("*v1.Table")
        return Response(status, protobuf_of(obj), (PROTOBUF_HEADER,))
    if accepted.media_type == YAML:
        return Response(status, dump_yaml(orjson.loads(body)), (YAML_HEADER,))
    if accepted.pretty:
        return Response(status, orjson.dumps(orjson.loads(body), option=orjson.OPT_INDENT_2))
    if not body.endswith(b"\n"):
        body += b"\n"
    return Response(status, body)

"""The token subresource of service accounts (TokenRequest)."""

from __future__ import annotations

import time
from typing import Any

from watchkeeper.authn.service_account_tokens import Bound, ServiceAccountTokens
from watchkeeper.meta import errors
from watchkeeper.meta.errors import ApiError
from watchkeeper.meta.field import FieldError, go_quote, invalid
from watchkeeper.meta.gvk import GroupKind, GroupResource, GroupVersion
from watchkeeper.registry.metadata import now_text
from watchkeeper.registry.rest import Context, CreateOptions, Object, Result
from watchkeeper.registry.store import Store

_KIND = GroupKind("authentication.k8s.io", "TokenRequest")
_DEFAULT_SECONDS = 3600
_MIN_SECONDS = 600
_MAX_SECONDS = 1 << 32


class TokenStore:
    """Answers a TokenRequest with a signed token."""

    def __init__(self, accounts: Store, bindable: dict[str, Store], tokens: ServiceAccountTokens) -> None:
        """`bindable`: the stores of kinds that a token can be bound to, by kind: Pod, Secret, Node."""
        self._accounts = accounts
        self._bindable = bindable
        self._tokens = tokens

    async def create_named(self, ctx: Context, name: str, obj: Object, options: CreateOptions) -> Result:
        """Sign a token for the account.

        Raises a 404 without the account, a 409 for another account than is meant, a 422 for a bad request, a 409 or
        404 for an object to bind to that is not the one meant.
        """
        meta = obj.get("metadata") or {}
        if meta.get("name") and meta["name"] != name:
            wrong = invalid("metadata.name", meta["name"], "must match the service account name if specified")
            raise errors.invalid(_KIND, name, [wrong])
        account = (await self._accounts.get(ctx, name, "")).data()["metadata"]
        uid = account.get("uid", "")
        if meta.get("uid") and meta["uid"] != uid:
            theirs = f"the UID of the service account ({uid})"
            why = f"the UID in the token request ({meta['uid']}) does not match {theirs}"
            raise errors.conflict(GroupResource(_KIND.group, _KIND.kind), name, why)
        spec: dict[str, Any] = obj.setdefault("spec", {})
        audiences = spec.get("audiences") or list(self._tokens.audiences)
        seconds = spec.get("expirationSeconds")
        if seconds is None:
            seconds = _DEFAULT_SECONDS
        now = time.time()
        own = {"name": name, "namespace": ctx.namespace, "uid": uid, "creationTimestamp": now_text(now)}
        obj["metadata"] = {**meta, **own}
        spec.update(audiences=audiences, expirationSeconds=seconds)
        spec.setdefault("boundObjectRef", None)
        obj["status"] = {"token": "", "expirationTimestamp": None}
        _check(seconds)
        if options.validate is not None:
            await options.validate(obj)
        bound = await self._bound(ctx, spec.get("boundObjectRef"), name)
        most = self._tokens.max_seconds
        if most and seconds > most:
            ctx.warn(f"requested expiration of {seconds} seconds shortened to {most} seconds")
            spec["expirationSeconds"] = seconds = most
        token = self._tokens.sign(ctx.namespace, name, uid, audiences, seconds, bound)
        obj["status"] = {"token": token, "expirationTimestamp": now_text(now + seconds)}
        return obj

    async def _bound(self, ctx: Context, reference: Object | None, account: str) -> Bound | None:
        if reference is None:
            return None
        kind, name = reference.get("kind") or "", reference.get("name") or ""
        api_version = reference.get("apiVersion") or ""
        # What cannot be read is taken for no version at all.
        group, version = GroupVersion.parse(api_version) if api_version.count("/") < 2 else ("", "")
        store = self._bindable.get(kind) if not group else None
        if store is None:
            raise errors.bad_request(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        found = (await store.get(ctx, name, "")).data()
        if kind == "Pod" and (found["spec"].get("serviceAccountName") or "") != account:
            why = f"cannot bind token for serviceaccount {go_quote(account)} to pod running with"
            raise errors.bad_request(f"{why} different serviceaccount name.")
        uid = found["metadata"].get("uid", "")
        wanted = reference.get("uid")
        if wanted and wanted != uid:
            why = f"the UID in the bound object reference ({wanted}) does not match the UID in record. The object might"
            raise errors.conflict(GroupResource("", kind), name, f"{why} have been deleted and then recreated")
        return Bound(kind.lower(), name, uid, await self._node_of(ctx, found) if kind == "Pod" else None)

    async def _node_of(self, ctx: Context, pod: Object) -> dict[str, str] | None:
        """The node that a pod is on, by its name alone when there is no such node."""
        name = pod["spec"].get("nodeName")
        if not name:
            return None
        nodes = self._bindable["Node"]
        try:
            node = await nodes.get(ctx, name, "0")
        except ApiError:
            # The cache may not have it yet.
            try:
                node = await nodes.get(ctx, name, "")
            except ApiError as error:
                if error.code != 404:
                    raise
                return {"name": name}
        return {"name": name, "uid": node.data()["metadata"].get("uid", "")}


def _check(seconds: int) -> None:
    path = "spec.expirationSeconds"
    wrong: list[FieldError] = []
    if seconds < _MIN_SECONDS:
        wrong.append(invalid(path, seconds, "may not specify a duration less than 10 minutes"))
    if seconds > _MAX_SECONDS:
        wrong.append(invalid(path, seconds, "may not specify a duration larger than 2^32 seconds"))
    if wrong:
        raise errors.invalid(_KIND, "", wrong)

"""Questions that clients put about rights and identities: the review kinds, as functions of their bodies.

Each takes the object as it was sent (decoded, at the hub version) and returns it with its status; nothing is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from watchkeeper.apis.schema_data import object_meta_schema
from watchkeeper.authn.interface import InvalidToken, TokenReviewer
from watchkeeper.authz.interface import Attributes, Authorizer, Decision
from watchkeeper.authz.rbac.policy import all_told
from watchkeeper.authz.rbac.rule import Rule
from watchkeeper.authz.review_selectors import ignored_selectors, validate_selectors
from watchkeeper.authz.union import ask
from watchkeeper.meta import errors, field
from watchkeeper.meta.field import FieldError
from watchkeeper.meta.gvk import GroupKind
from watchkeeper.request.user import User
from watchkeeper.runtime.go_order import in_go_order

Object = dict[str, Any]
_AUTHORIZATION = "authorization.k8s.io"
_ONE_OF = "exactly one of nonResourceAttributes or resourceAttributes must be specified"


_INVALID_TOKEN = "invalid bearer token"


class RuleResolver(Protocol):
    """Knows all rules that hold for a user (`authz.rbac.policy`)."""

    def rules_for(self, user: User, namespace: str, missing: list[str] | None = None) -> Sequence[Rule]:
        """The rules that hold for a user in a namespace, those for the whole cluster among them.

        What bindings refer to in vain is told in `missing`.
        """
        ...


class RuleResolverUnion:
    """Knows what several resolvers know, in their order."""

    def __init__(self, resolvers: Sequence[RuleResolver]) -> None:
        self._resolvers = tuple(resolvers)

    def rules_for(self, user: User, namespace: str, missing: list[str] | None = None) -> Sequence[Rule]:
        """The rules of all resolvers; a rule that two have comes twice."""
        return [rule for resolver in self._resolvers for rule in resolver.rules_for(user, namespace, missing)]


async def subject_access_review(review: Object, authorizer: Authorizer) -> Object:
    """SubjectAccessReview: may that user do that? Raises a 422."""
    spec = review.get("spec") or {}
    _refuse(_subject_errors(spec) + _metadata_errors(review, allowed=()))
    return await _judged(review, _spec_user(spec), spec, authorizer)


async def self_subject_access_review(review: Object, user: User, authorizer: Authorizer) -> Object:
    """SelfSubjectAccessReview: may the caller do that? Raises a 422."""
    spec = review.get("spec") or {}
    _refuse(_attribute_errors(spec) + _selector_errors(spec) + _metadata_errors(review, allowed=()))
    return await _judged(review, user, spec, authorizer)


async def local_subject_access_review(review: Object, namespace: str, authorizer: Authorizer) -> Object:
    """LocalSubjectAccessReview: may that user do that in this namespace? Raises a 422 or a 400."""
    spec = review.get("spec") or {}
    found = _subject_errors(spec) + _metadata_errors(review, allowed=("namespace",))
    asked = spec.get("resourceAttributes")
    own = review.get("metadata", {}).get("namespace", "")
    if asked is not None and asked.get("namespace", "") != own:
        path = "spec.resourceAttributes.namespace"
        found.append(field.invalid(path, asked.get("namespace", ""), "must match metadata.namespace"))
    if spec.get("nonResourceAttributes") is not None:
        value = _as_told(spec["nonResourceAttributes"])
        found.append(field.invalid("spec.nonResourceAttributes", value, "disallowed on this kind of request"))
    _refuse(found)
    if not namespace:
        raise errors.bad_request(f"namespace is required on this type: {namespace}")
    if namespace != own:
        raise errors.bad_request(f"spec.resourceAttributes.namespace must match namespace: {namespace}")
    return await _judged(review, _spec_user(spec), spec, authorizer)


def self_subject_rules_review(review: Object, user: User, resolver: RuleResolver) -> Object:
    """SelfSubjectRulesReview: all that the caller may do in a namespace. Raises a 400 without a namespace."""
    namespace = (review.get("spec") or {}).get("namespace", "")
    if not namespace:
        raise errors.bad_request("no namespace on request")
    missing: list[str] = []
    rules = resolver.rules_for(user, namespace, missing)
    status: Object = {
        "resourceRules": [_resource_rule(rule) for rule in rules if rule.resources],
        "nonResourceRules": [
            {"verbs": list(rule.verbs), "nonResourceURLs": list(rule.non_resource_urls)}
            for rule in rules
            if rule.non_resource_urls
        ],
        "incomplete": False,
    }
    if missing:
        status["evaluationError"] = all_told(missing)
    return {**_head(review), "metadata": {}, "spec": {}, "status": status}


def self_subject_review(review: Object, user: User, now: str) -> Object:
    """SelfSubjectReview: who the caller is. `now` is the creation timestamp to show."""
    return {**_head(review), "metadata": {"creationTimestamp": now}, "status": {"userInfo": user_info(user)}}


async def token_review(review: Object, reviewer: TokenReviewer) -> Object:
    """TokenReview: whose token is that, and for whom is it meant? Raises a 400 without a token.

    What the client sent as status stays where the outcome says nothing of it.
    """
    spec = review.get("spec") or {}
    token = spec.get("token", "")
    if not token:
        raise errors.bad_request("token is required for TokenReview in authentication")
    found = None
    reasons = [_INVALID_TOKEN]
    try:
        found = await reviewer.review_token(token, spec.get("audiences") or ())
    except InvalidToken as error:
        # The reference asks its own authenticator of the loopback token as well, which knows no other.
        reasons += error.args
    status: Object = {"user": {}, **(review.get("status") or {})}
    if found is None:
        status.pop("authenticated", None)
        status["error"] = all_told(reasons)
    else:
        status |= {"authenticated": True, "user": user_info(found.user)}
        status.pop("audiences", None)
        if found.audiences:
            status["audiences"] = list(found.audiences)
    return {**_head(review), "metadata": review.get("metadata") or {}, "spec": spec, "status": status}


def user_info(user: User) -> Object:
    """authentication.k8s.io UserInfo."""
    info: Object = {"username": user.name} if user.name else {}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info


def attributes_from_spec(user: User, spec: Mapping[str, Any]) -> Attributes:
    """The question that a review's spec puts."""
    asked = spec.get("resourceAttributes")
    if asked is not None:
        return Attributes(
            user=user,
            verb=asked.get("verb", ""),
            group=asked.get("group", ""),
            version=asked.get("version", "") or "*",
            resource=asked.get("resource", ""),
            subresource=asked.get("subresource", ""),
            namespace=asked.get("namespace", ""),
            name=asked.get("name", ""),
        )
    other = spec.get("nonResourceAttributes") or {}
    return Attributes(user=user, verb=other.get("verb", ""), is_resource=False, path=other.get("path", ""))


async def _judged(review: Object, user: User, spec: Mapping[str, Any], authorizer: Authorizer) -> Object:
    answer = await ask(authorizer, attributes_from_spec(user, spec))
    status: Object = {"allowed": answer.allowed}
    if answer.decision is Decision.DENY:
        status["denied"] = True
    if answer.reason:
        status["reason"] = answer.reason
    ignored = ignored_selectors(spec.get("resourceAttributes") or {}, "spec.resourceAttributes")
    if ignored:
        status["evaluationError"] = "; ".join(ignored)
    return {**_head(review), "metadata": review.get("metadata") or {}, "spec": spec, "status": status}


def _head(review: Object) -> Object:
    return {key: review[key] for key in ("kind", "apiVersion") if key in review}


def _spec_user(spec: Mapping[str, Any]) -> User:
    extra = {key: tuple(values or ()) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user", ""), uid=spec.get("uid", ""), groups=tuple(spec.get("groups") or ()), extra=extra)


def _resource_rule(rule: Rule) -> Object:
    shown: Object = {"verbs": list(rule.verbs)}
    if rule.api_groups:
        shown["apiGroups"] = list(rule.api_groups)
    shown["resources"] = list(rule.resources)
    if rule.resource_names:
        shown["resourceNames"] = list(rule.resource_names)
    return shown


def _subject_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    found = _attribute_errors(spec)
    if not spec.get("user") and not spec.get("groups"):
        found.append(
            field.invalid("spec.user", spec.get("user", ""), "at least one of user or group must be specified")
        )
    return found + _selector_errors(spec)


def _selector_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    return validate_selectors(spec.get("resourceAttributes") or {}, "spec.resourceAttributes")


def _attribute_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    resource, other = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and other is not None:
        why = "cannot be specified in combination with resourceAttributes"
        return [field.invalid("spec.nonResourceAttributes", _as_told(other), why)]
    if resource is None and other is None:
        return [field.invalid("spec.resourceAttributes", None, _ONE_OF)]
    return []


def _as_told(attributes: Mapping[str, Any]) -> Object:
    """Non-resource attributes as refusals show them: all fields, under the names of the reference's own structure."""
    return {"Path": attributes.get("path", ""), "Verb": attributes.get("verb", "")}


def _metadata_errors(review: Object, allowed: Sequence[str]) -> list[FieldError]:
    metadata = {k: v for k, v in (review.get("metadata") or {}).items() if v}
    if not set(metadata) - set(allowed) - {"managedFields"}:
        return []
    shown = in_go_order(metadata, object_meta_schema())
    return [field.invalid("metadata", shown, f"must be empty{' except for namespace' if allowed else ''}")]


def _refuse(found: Sequence[FieldError]) -> None:
    """The reference names the group but no kind."""
    if found:
        raise errors.invalid(GroupKind(_AUTHORIZATION, ""), "", found)

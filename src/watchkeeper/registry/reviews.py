"""The review kinds: questions that are answered and stored nowhere."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from watchkeeper.authn.interface import TokenReviewer
from watchkeeper.authz import reviews
from watchkeeper.authz.interface import Authorizer
from watchkeeper.registry.metadata import now_text
from watchkeeper.registry.rest import Context, CreateOptions, Object, Result

Answer = Callable[[Context, Object], "Result | Awaitable[Result]"]


class ReviewStore:
    """Answers the POST of a review kind."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    async def create(self, ctx: Context, obj: Object, options: CreateOptions) -> Result:
        """The review with its status. Raises what is wrong with the question."""
        if options.validate is not None:
            await options.validate(obj)
        found = self._answer(ctx, obj)
        return await found if isinstance(found, Awaitable) else found


def review_stores(
    authorizer: Authorizer, resolver: reviews.RuleResolver, tokens: TokenReviewer
) -> dict[str, ReviewStore]:
    """The stores of all review kinds, by resource."""
    return {
        "subjectaccessreviews": ReviewStore(lambda _ctx, obj: reviews.subject_access_review(obj, authorizer)),
        "selfsubjectaccessreviews": ReviewStore(
            lambda ctx, obj: reviews.self_subject_access_review(obj, ctx.user, authorizer)
        ),
        "localsubjectaccessreviews": ReviewStore(
            lambda ctx, obj: reviews.local_subject_access_review(obj, ctx.namespace, authorizer)
        ),
        "selfsubjectrulesreviews": ReviewStore(
            lambda ctx, obj: reviews.self_subject_rules_review(obj, ctx.user, resolver)
        ),
        "selfsubjectreviews": ReviewStore(lambda ctx, obj: reviews.self_subject_review(obj, ctx.user, now_text())),
        "tokenreviews": ReviewStore(lambda _ctx, obj: reviews.token_review(obj, tokens)),
    }

"""Several authorizers, asked in turn."""

import asyncio

from watchkeeper.authz.interface import Answer, Attributes, Decision
from watchkeeper.authz.rbac.rule import Rule
from watchkeeper.authz.reviews import RuleResolverUnion, self_subject_rules_review
from watchkeeper.authz.union import AlwaysAllow, AuthorizerUnion, PrivilegedGroup, ask
from watchkeeper.request.user import LOOPBACK, User

QUESTION = Attributes(user=User("ann"), verb="get", resource="pods")


class Fixed:
    def __init__(self, decision, reason="", *, later=False):
        self.answer = Answer(decision, reason)
        self.later = later

    def authorize(self, attributes):
        return self._later() if self.later else self.answer

    async def _later(self):
        await asyncio.sleep(0)
        return self.answer


def decide(*authorizers):
    return asyncio.run(ask(AuthorizerUnion(authorizers), QUESTION))


def test_the_first_who_decides_wins():
    no_opinion = Fixed(Decision.NO_OPINION, "not mine")
    assert decide(no_opinion, Fixed(Decision.ALLOW, "yes"), Fixed(Decision.DENY)).reason == "yes"
    assert decide(no_opinion, Fixed(Decision.DENY, "no"), AlwaysAllow()).decision is Decision.DENY


def test_what_nobody_decides_comes_with_all_reasons():
    answer = decide(Fixed(Decision.NO_OPINION, "a"), Fixed(Decision.NO_OPINION), Fixed(Decision.NO_OPINION, "b"))
    assert (answer.decision, answer.reason) == (Decision.NO_OPINION, "a\nb")


def test_it_makes_no_difference_whether_somebody_has_to_think():
    later = Fixed(Decision.NO_OPINION, "a", later=True)
    assert decide(later, Fixed(Decision.ALLOW, "yes", later=True)).reason == "yes"
    assert (
        decide(Fixed(Decision.NO_OPINION, "0"), later, Fixed(Decision.NO_OPINION, "b", later=True)).reason == "0\na\nb"
    )


def test_the_privileged_group_may_do_everything():
    assert PrivilegedGroup().authorize(Attributes(user=LOOPBACK, verb="delete", resource="nodes")).allowed
    assert PrivilegedGroup().authorize(QUESTION).decision is Decision.NO_OPINION


def test_whoever_may_do_everything_is_told_so():
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "shop"}}
    status = self_subject_rules_review(review, User("anna"), AlwaysAllow())["status"]
    assert status == {
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }


def test_rules_of_several_come_in_their_order():
    class Reader:
        def rules_for(self, user, namespace, missing=None):
            if missing is not None:
                missing.append(f"role of {user.name} in {namespace}")
            return [Rule(verbs=("get",), api_groups=("",), resources=("pods",))]

    missing = []
    rules = RuleResolverUnion([Reader(), AlwaysAllow()]).rules_for(User("anna"), "shop", missing)
    assert [rule.verbs for rule in rules] == [("get",), ("*",), ("*",)]
    assert missing == ["role of anna in shop"]

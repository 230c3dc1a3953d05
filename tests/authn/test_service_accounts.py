"""Service accounts as users."""

import pytest

from watchkeeper.authn.groups import with_authenticated
from watchkeeper.authn.service_accounts import group_names, split_username, username
from watchkeeper.request.user import ANONYMOUS, User


def test_a_name_goes_there_and_back():
    assert username("ns", "robot") == "system:serviceaccount:ns:robot"
    assert split_username(username("ns", "robot")) == ("ns", "robot")
    assert group_names("ns") == ("system:serviceaccounts", "system:serviceaccounts:ns")


@pytest.mark.parametrize(
    "name",
    [
        "ann",
        "system:serviceaccount:ns",
        "system:serviceaccount::x",
        "system:serviceaccount:a:b:c",
        "system:serviceaccount:A_:b",
        "system:serviceaccount:a.b:c",
        "system:serviceaccount:a:B",
    ],
)
def test_other_names_are_no_service_accounts(name):
    assert split_username(name) is None


def test_everybody_but_the_anonymous_user_is_authenticated_once():
    assert with_authenticated(User("ann", groups=("a",))).groups == ("a", "system:authenticated")
    assert with_authenticated(with_authenticated(User("ann"))).groups == ("system:authenticated",)
    assert with_authenticated(ANONYMOUS) is ANONYMOUS

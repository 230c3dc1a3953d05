"""Tokens that stay: the administrator's, and those of a file in kube-apiserver's format."""

import pytest

from watchkeeper.authn.static_tokens import StaticTokens, TokenFileError, read_token_file
from watchkeeper.request.user import User


def test_a_token_is_its_users_and_no_other_is():
    tokens = StaticTokens({"secret": User("ann")})
    assert tokens.authenticate_token("secret") == User("ann")
    assert tokens.authenticate_token("secret ") is None
    assert tokens.authenticate_token("") is None
    assert "secret" not in repr(vars(StaticTokens)) + repr(tokens)


def test_a_token_file_names_users_uids_and_groups(tmp_path):
    file = tmp_path / "tokens.csv"
    file.write_text('t1,ann,u1\nt2,bob,u2,"devs,ops"\n\nt3,"o\'hara, pat",u3,one,ignored\n')
    assert read_token_file(file) == {
        "t1": User("ann", uid="u1"),
        "t2": User("bob", uid="u2", groups=("devs", "ops")),
        "t3": User("o'hara, pat", uid="u3", groups=("one",)),
    }


def test_an_empty_token_is_skipped_and_a_repeated_one_means_its_last_user(tmp_path, caplog):
    file = tmp_path / "tokens.csv"
    file.write_text(",nobody,u0\nt,first,u1\nt,second,u2\n")
    assert read_token_file(file) == {"t": User("second", uid="u2")}
    assert "record 1 has an empty token" in caplog.text
    assert "record 3 repeats a token" in caplog.text


def test_a_record_that_is_too_short_is_an_error_that_says_where(tmp_path):
    file = tmp_path / "tokens.csv"
    file.write_text("t1,ann,u1\nt2,bob\n")
    with pytest.raises(TokenFileError, match=r"at least 3 columns .*record 2 has 2"):
        read_token_file(file)


def test_broken_quoting_is_an_error_that_says_where(tmp_path):
    file = tmp_path / "tokens.csv"
    file.write_text('t1,ann,u1,"open\n')
    with pytest.raises(TokenFileError, match=r"tokens\.csv, line 1"):
        read_token_file(file)

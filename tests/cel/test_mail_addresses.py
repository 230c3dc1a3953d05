"""Mail addresses: what kube-apiserver takes for one in a schema's `format: email`."""

from __future__ import annotations

import pytest

from watchkeeper.cel.mail_address import is_mail_address


@pytest.mark.parametrize(
    "text",
    [
        "a@b",
        " a@b ",
        "é@b.c",
        "a@ b",
        "A <a@b.c>",
        "<a@b>",
        "<a@b> (c)",
        "x (y) z <a@b>",
        ".. <a@b>",
        "a.b. <a@b>",
        '"a b" <a@b>',
        '"a\\"b"@c',
        '"x"@y.z',
        "a@b (c (d))",
        "a@b (c\\))",
        "a@[1.2.3.4]",
        "a@[::1]",
        "g:a@b;",
        "=?utf-8?q?x?= <a@b>",
        "=?x?q?=zz?= <a@b>",
        "=?x?b?=?= <a@b>",
    ],
)
def test_an_address(text: str) -> None:
    assert is_mail_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "@b",
        "a@",
        "a @b",
        "a@b@c",
        "a b@c",
        ".a@b",
        "a.@b",
        "a..b@c",
        "a@b.",
        "a@b..c",
        "(c) a@b",
        '""@b',
        '"a@b',
        "A <a@b",
        "A <a@b >",
        "a@b (c",
        "a@b (c\\)",
        "a@[01.2.3.4]",
        "a@[::1%e]",
        "a@[x]",
        "a@[::1",
        "a@b;",
        "g:;",
        "g:a@b,c@d;",
        "g:a@b",
        "g:h:a@b;;",
        "=?x?q?x?= <a@b>",
        "a@b (=?x?q?x?=)",
        "a\x01@b",
    ],
)
def test_no_address(text: str) -> None:
    assert not is_mail_address(text)

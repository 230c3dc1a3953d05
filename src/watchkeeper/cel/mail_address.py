"""Mail addresses as Go's net/mail reads them: RFC 5322, a little more and a little less."""

from __future__ import annotations

import base64
import re

from watchkeeper.meta.addresses import AddressError, parse_address

_BLANKS = re.compile(r"[ \t]*")
_ATOM = re.compile(r"[^\x00-\x20\x7f()<>\[\]:;@\\,\"]+")
_QUOTED = re.compile(r'"((?:[^\x00-\x08\x0a-\x1f\x7f"\\]|\\[^\x00-\x08\x0a-\x1f\x7f])*)"')
_LITERAL = re.compile(r"\[([^\x00-\x20\x7f\[\]\\]*)\]")
_ENCODED = re.compile(r"=\?([^?]+)\?(?:[Qq]\?((?:[^?=\x7f-\U0010ffff]|=[0-9A-Fa-f]{2})*)|[Bb]\?([A-Za-z0-9+/=]*))\?=")
_CHARSETS = frozenset({"utf-8", "iso-8859-1", "us-ascii"})


class _NoAddress(Exception):
    """The text goes on otherwise than an address may."""


def is_mail_address(text: str) -> bool:
    """Whether a text is one address, with or without a name, or a group of one."""
    try:
        _Reader(text).single()
    except _NoAddress:
        return False
    return True


class _Reader:
    """Reads from a place in a text on. Methods raise _NoAddress; `place` is then anywhere."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def single(self) -> None:
        """Exactly one address, and nothing behind it."""
        count = self.address(in_group=False)
        self.skip_comments()
        if count != 1 or self.place < len(self.text):
            raise _NoAddress

    def address(self, *, in_group: bool) -> int:
        """An address or, if not in one already, a group. Returns how many addresses that are."""
        self.skip_blanks()
        start = self.place
        try:
            self.spec()
        except _NoAddress:
            self.place = start
            return self.named(in_group=in_group)
        self.skip_blanks()
        if self.peek() == "(" and any(map(_is_unreadable, re.split("[ \t]", self.comment()))):
            raise _NoAddress
        return 1

    def named(self, *, in_group: bool) -> int:
        if self.peek() != "<":
            self.phrase()
        self.skip_blanks()
        if not in_group and self.consume(":"):
            return self.group()
        self.expect("<")
        self.spec()
        self.expect(">")
        return 1

    def group(self) -> int:
        """Addresses with commas between them, up to a semicolon."""
        self.skip_blanks()
        count = 0
        while not (count == 0 and self.consume(";")):
            count += self.address(in_group=True)
            self.skip_comments()
            if self.consume(";"):
                break
            self.expect(",")
        self.skip_comments()
        return count

    def spec(self) -> None:
        """`local@domain`."""
        self.skip_blanks()
        if self.peek() == '"':
            if not self.quoted():
                raise _NoAddress
        else:
            self.dotted()
        self.expect("@")
        self.skip_blanks()
        if self.peek() == "[":
            self.literal()
        else:
            self.dotted()

    def dotted(self) -> None:
        atom = self.take(_ATOM)
        if atom.startswith(".") or atom.endswith(".") or ".." in atom:
            raise _NoAddress

    def literal(self) -> None:
        """An IP address in brackets."""
        try:
            _, zone = parse_address(self.take(_LITERAL)[1:-1])
        except AddressError:
            raise _NoAddress from None
        if zone:
            raise _NoAddress

    def quoted(self) -> str:
        return self.take(_QUOTED)[1:-1]

    def phrase(self) -> None:
        """At least one word; what cannot be one ends it. Comments may stand behind words."""
        words = 0
        while True:
            if words:
                self.skip_comments()
            self.skip_blanks()
            found = (_QUOTED if self.peek() == '"' else _ATOM).match(self.text, self.place)
            if found is None:
                break
            self.place = found.end()
            if _is_unreadable(found.group()):
                break
            words += 1
        if not words:
            raise _NoAddress

    def comment(self) -> str:
        """What stands in parentheses. Returns it, escapes as they are."""
        self.expect("(")
        start, depth = self.place, 1
        while depth and self.place < len(self.text):
            ch = self.peek()
            if ch == "\\" and self.place + 1 < len(self.text):
                self.place += 1
            elif ch == "(":
                depth += 1
            elif ch == ")":
                depth -= 1
            self.place += 1
        if depth:
            raise _NoAddress
        return self.text[start : self.place - 1]

    def skip_comments(self) -> None:
        self.skip_blanks()
        while self.peek() == "(":
            self.comment()
            self.skip_blanks()

    def skip_blanks(self) -> None:
        found = _BLANKS.match(self.text, self.place)
        assert found is not None
        self.place = found.end()

    def peek(self) -> str:
        return self.text[self.place : self.place + 1]

    def consume(self, ch: str) -> bool:
        found = self.peek() == ch
        self.place += found
        return found

    def expect(self, ch: str) -> None:
        if not self.consume(ch):
            raise _NoAddress

    def take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.place)
        if found is None:
            raise _NoAddress
        self.place = found.end()
        return found.group()


def _is_unreadable(word: str) -> bool:
    """Whether a word is encoded in characters that nobody knows (RFC 2047)."""
    found = _ENCODED.fullmatch(word)
    if found is None or found[1].lower() in _CHARSETS:
        return False
    try:
        base64.b64decode(found[3] or "", validate=True)
    except ValueError:
        return False
    return True

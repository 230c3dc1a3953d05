"""Parses RE2 syntax, refusing what Go's regexp.Compile refuses, in its words."""

from __future__ import annotations

from watchkeeper.cel.regex import charset
from watchkeeper.cel.regex.charset import Range, Ranges
from watchkeeper.cel.regex.nodes import Assertion, Chars, Choice, Empty, Group, Node, Repeat, Sequence
from watchkeeper.cel.regex.unicode_classes import unicode_class

MAX_REPEAT = 1000
MAX_DEPTH = 1000
_PERL: dict[str, Ranges] = {"d": charset.DIGIT, "s": charset.SPACE, "w": charset.WORD}
_SIMPLE = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
_HEX = frozenset("0123456789abcdefABCDEF")


class RegexError(ValueError):
    """A pattern that is not RE2 syntax; the message is Go's."""

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"error parsing regexp: {what}: `{where}`")


class _Flags:
    __slots__ = ("fold", "multi", "newline", "ungreedy")

    def __init__(self, fold: bool, multi: bool, newline: bool, ungreedy: bool) -> None:
        self.fold, self.multi, self.newline, self.ungreedy = fold, multi, newline, ungreedy

    def copy(self) -> _Flags:
        return _Flags(self.fold, self.multi, self.newline, self.ungreedy)


def parse(text: str) -> Node:
    """Parse a pattern. Raises RegexError."""
    return _Parser(text).parse()


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.flags = _Flags(False, False, False, False)
        self.depth = 0

    def parse(self) -> Node:
        node = self.alternation()
        if self.at < len(self.text):
            raise RegexError("unexpected )", self.text)
        return node

    def alternation(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise RegexError("expression nests too deeply", self.text)
        options = [self.sequence()]
        while self.peek() == "|":
            self.at += 1
            options.append(self.sequence())
        self.depth -= 1
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def peek(self) -> str:
        return self.text[self.at] if self.at < len(self.text) else ""

    def sequence(self) -> Node:
        parts: list[Node] = []
        repeated_from = -1
        while self.at < len(self.text):
            ch = self.text[self.at]
            if ch in "|)":
                break
            start = self.at
            if ch in "*+?" or (ch == "{" and self.counts() is not None):
                repeated_from = self.repetition(parts, repeated_from)
                continue
            repeated_from = -1
            node = self.atom(ch)
            if node is not None:
                parts.append(node)
            elif self.at == start:
                raise RegexError("unexpected )", self.text)
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def repetition(self, parts: list[Node], repeated_from: int) -> int:
        start = self.at
        ch = self.text[start]
        if ch == "{":
            counts = self.counts()
            assert counts is not None
            low, high, self.at = counts
            if low > MAX_REPEAT or (high is not None and not low <= high <= MAX_REPEAT):
                raise RegexError("invalid repeat count", self.text[start : self.at])
        else:
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[ch]
            self.at += 1
        lazy = self.peek() == "?"
        if lazy:
            self.at += 1
        where = self.text[start : self.at]
        if not parts:
            raise RegexError("missing argument to repetition operator", where)
        if repeated_from >= 0:
            raise RegexError("invalid nested repetition operator", self.text[repeated_from : self.at])
        parts[-1] = Repeat(parts[-1], low, high, lazy != self.flags.ungreedy)
        if _copies(parts[-1]) > MAX_REPEAT:
            raise RegexError("invalid repeat count", where)
        return start

    def counts(self) -> tuple[int, int | None, int] | None:
        """Read `{n}`, `{n,}` or `{n,m}`; anything else is literal text."""
        end = self.text.find("}", self.at)
        if end < 0:
            return None
        low, comma, high = self.text[self.at + 1 : end].partition(",")
        if not _is_count(low) or (high and not _is_count(high)):
            return None
        if not comma:
            return int(low), int(low), end + 1
        return int(low), int(high) if high else None, end + 1

    def atom(self, ch: str) -> Node | None:
        if ch == "(":
            return self.group()
        if ch == "[":
            return self.char_class()
        if ch == "\\":
            return self.escape()
        self.at += 1
        if ch == "^":
            return Empty(Assertion.BEGIN_LINE if self.flags.multi else Assertion.BEGIN_TEXT)
        if ch == "$":
            return Empty(Assertion.END_LINE if self.flags.multi else Assertion.END_TEXT)
        if ch == ".":
            return Chars(charset.ANY if self.flags.newline else charset.NOT_NEWLINE)
        return self.literal(ord(ch))

    def literal(self, code: int) -> Chars:
        return Chars(((code, code),), self.flags.fold)

    def group(self) -> Node | None:
        start = self.at
        if not self.text.startswith("(?", start):
            self.at += 1
            return Group(self.group_body())
        for opening in ("(?P<", "(?<"):
            if self.text.startswith(opening, start) and len(self.text) > start + len(opening):
                return self.named_group(start)
        return self.flag_group(start)

    def group_body(self) -> Node:
        saved = self.flags.copy()
        inner = self.alternation()
        if self.peek() != ")":
            raise RegexError("missing closing )", self.text)
        self.at += 1
        self.flags = saved
        return inner

    def named_group(self, start: int) -> Node:
        begin = self.text.index("<", start) + 1
        end = self.text.find(">", begin)
        if end < 0:
            raise RegexError("invalid named capture", self.text[start:])
        name = self.text[begin:end]
        if not name or not all(c == "_" or (c.isascii() and c.isalnum()) for c in name):
            raise RegexError("invalid named capture", self.text[start : end + 1])
        self.at = end + 1
        return Group(self.group_body(), name)

    def flag_group(self, start: int) -> Node | None:
        flags = self.flags.copy()
        self.at = start + 2
        sign, seen = True, False
        while self.at < len(self.text):
            ch = self.text[self.at]
            self.at += 1
            if ch in "imsU":
                seen = True
                name = {"i": "fold", "m": "multi", "s": "newline", "U": "ungreedy"}[ch]
                setattr(flags, name, sign)
            elif ch == "-" and sign:
                sign, seen = False, False
            elif ch in ":)" and (sign or seen):
                if ch == ")":
                    self.flags = flags
                    return None
                saved, self.flags = self.flags, flags
                inner = self.group_body()
                self.flags = saved
                return inner
            else:
                break
        raise RegexError("invalid or unsupported Perl syntax", self.text[start : self.at])

    def escape(self) -> Node:
        start = self.at
        if start + 1 >= len(self.text):
            raise RegexError("trailing backslash at end of expression", "")
        ch = self.text[start + 1]
        place = {
            "A": Assertion.BEGIN_TEXT,
            "z": Assertion.END_TEXT,
            "b": Assertion.WORD_BOUNDARY,
            "B": Assertion.NO_WORD_BOUNDARY,
        }.get(ch)
        if place is not None:
            self.at += 2
            return Empty(place)
        if ch == "Q":
            return self.quoted()
        ranges = self.class_escape()
        if ranges is not None:
            return Chars(ranges, self.flags.fold)
        return self.literal(self.char_escape())

    def quoted(self) -> Node:
        end = self.text.find("\\E", self.at + 2)
        body = self.text[self.at + 2 : end if end >= 0 else len(self.text)]
        self.at = end + 2 if end >= 0 else len(self.text)
        return Sequence(tuple(self.literal(ord(c)) for c in body))

    def class_escape(self) -> Ranges | None:
        r"""Read \d, \W, \pL, \P{Greek} at the current place, if one is there."""
        ch = self.text[self.at + 1]
        ranges = _PERL.get(ch.lower())
        if ranges is not None:
            self.at += 2
            return charset.negate(ranges) if ch.isupper() else ranges
        if ch not in "pP":
            return None
        start = self.at
        self.at += 2
        if self.peek() == "{":
            end = self.text.find("}", self.at)
            if end < 0:
                raise RegexError("invalid character class range", self.text[start:])
            name, self.at = self.text[self.at + 1 : end], end + 1
        else:
            name = self.peek()
            self.at += 1
        negated = ch == "P"
        if name.startswith("^"):
            name, negated = name[1:], not negated
        found = unicode_class(name)
        if found is None:
            raise RegexError("invalid character class range", self.text[start : self.at])
        return charset.negate(found) if negated else found

    def char_escape(self) -> int:
        r"""Read \n, \x41, \x{1F600}, \101 or an escaped ASCII character that is neither a letter nor a digit."""
        start = self.at
        if start + 1 >= len(self.text):
            raise RegexError("trailing backslash at end of expression", "")
        ch = self.text[start + 1]
        self.at += 2
        if ch in _SIMPLE:
            return ord(_SIMPLE[ch])
        if ch.isascii() and not ch.isalnum():
            return ord(ch)
        if ch in "01234567":
            digits = ch
            while len(digits) < 3 and self.peek() and self.peek() in "01234567":
                digits += self.peek()
                self.at += 1
            if ch == "0" or len(digits) > 1:
                return int(digits, 8)
        if ch == "x":
            return self.hex_escape(start)
        raise RegexError("invalid escape sequence", self.text[start : self.at])

    def hex_escape(self, start: int) -> int:
        braced = self.peek() == "{"
        if braced:
            self.at += 1
        code = digits = 0
        while braced or digits < 2:
            ch = self.peek()
            self.at += 1
            if braced and ch == "}" and digits:
                return code
            if ch not in _HEX:
                raise RegexError("invalid escape sequence", self.text[start : self.at])
            code, digits = code * 16 + int(ch, 16), digits + 1
            if code > charset.MAX_RUNE:
                raise RegexError("invalid escape sequence", self.text[start : self.at])
        return code

    def char_class(self) -> Chars:
        start = self.at
        self.at += 1
        negated = self.peek() == "^"
        if negated:
            self.at += 1
        ranges: list[Range] = []
        first = True
        while self.peek() != "]" or first:
            if self.at >= len(self.text):
                raise RegexError("missing closing ]", self.text[start:])
            first = False
            if self.text.startswith("[:", self.at):
                found = self.posix_class()
                if found is not None:
                    ranges += found
                    continue
            ranges += self.class_item(start)
        self.at += 1
        result = charset.normalize(ranges)
        return Chars(charset.negate(result) if negated else result, self.flags.fold)

    def posix_class(self) -> Ranges | None:
        end = self.text.find(":]", self.at + 2)
        if end < 0:
            return None
        name = self.text[self.at + 2 : end]
        negated = name.startswith("^")
        found = charset.POSIX.get(name.lstrip("^"))
        if found is None:
            raise RegexError("invalid character class range", self.text[self.at : end + 2])
        self.at = end + 2
        return charset.negate(found) if negated else found

    def class_item(self, class_start: int) -> Ranges:
        start = self.at
        if self.peek() == "\\" and self.at + 1 < len(self.text):
            found = self.class_escape()
            if found is not None:
                return found
        low = self.class_char(class_start)
        high = low
        if self.peek() == "-" and self.at + 1 < len(self.text) and self.text[self.at + 1] != "]":
            self.at += 1
            high = self.class_char(class_start)
            if high < low:
                raise RegexError("invalid character class range", self.text[start : self.at])
        return ((low, high),)

    def class_char(self, class_start: int) -> int:
        ch = self.peek()
        if not ch:
            raise RegexError("missing closing ]", self.text[class_start:])
        if ch == "\\":
            return self.char_escape()
        self.at += 1
        return ord(ch)


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and (text == "0" or not text.startswith("0"))


def _copies(node: Node) -> int:
    """How many copies of its innermost part a nest of counted repetitions asks for."""
    match node:
        case Repeat(inner, low, high):
            return max(1, high if high is not None else low) * _copies(inner)
        case Sequence(parts):
            return max((_copies(p) for p in parts), default=1)
        case Choice(options):
            return max((_copies(o) for o in options), default=1)
        case Group(inner):
            return _copies(inner)
        case _:
            return 1

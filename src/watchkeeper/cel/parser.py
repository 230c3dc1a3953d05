"""Parses expressions. Macros are expanded on the way."""

from __future__ import annotations

from collections.abc import Callable

from watchkeeper.cel.ast import Call, Entry, Expr, Ident, ListExpr, Literal, MapExpr, Select, StructExpr, StructField
from watchkeeper.cel.lexer import MAX_INT, MIN_INT, RESERVED, Token, tokenize
from watchkeeper.cel.macros import MacroError, expand
from watchkeeper.cel.source import NOWHERE, CompileError, Issue

MAX_LENGTH = 100_000
MAX_DEPTH = 250
"""How deep a rule of cel-go's grammar may nest, and how many operators may stand within each other."""
_RELATIONS = {"<": "_<_", "<=": "_<=_", ">": "_>_", ">=": "_>=_", "==": "_==_", "!=": "_!=_"}
_ADDITIVE = {"+": "_+_", "-": "_-_"}
_MULTIPLICATIVE = {"*": "_*_", "/": "_/_", "%": "_%_"}
_LITERALS = "'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
_OPERAND = "{'[', '{', '(', '.', '-', '!', " + _LITERALS
_ARGUMENT = "{'[', '{', '(', ')', '.', '-', '!', " + _LITERALS
_INDEX = "{'[', '{', '(', '.', '-', '!', '?', " + _LITERALS
_LIST = "{'[', ']', '{', '(', '.', ',', '-', '!', '?', " + _LITERALS
_MAP = "{'[', '{', '}', '(', '.', ',', '-', '!', '?', " + _LITERALS
_FIELD = "{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"
_NO_NAMES = ("in", "true", "false", "null")
_CLOSING = {"(": ")", "[": "]", "{": "}"}
_BEHIND_OPERANDS = ("*", "/", "%", "+", "-", "<", "<=", ">=", ">", "==", "!=", "in", "&&", "||", "?")
_LAST = ")]}"
"""What may end an expression, so that it is missing at the end rather than something else there."""
_MAX_RECOVERIES = 30


def parse(source: str, *, binds: bool = False) -> Expr:
    """Parse an expression, with cel.bind or without. Raises CompileError."""
    if len(source) > MAX_LENGTH:
        text = f"expression code point size exceeds limit: size: {len(source)}, limit {MAX_LENGTH}"
        raise CompileError(source, [Issue(0, text)])
    return _Parser(source, binds).parse()


class _Parser:
    def __init__(self, source: str, binds: bool) -> None:
        self.source = source
        self.binds = binds
        self.tokens, self.issues = tokenize(source)
        self.at = 0
        self.resumed = -1
        """The token at which reading went on last behind something wrong."""
        self.recoveries = 0
        self.abandoned: set[int] = set()
        """Where brackets were opened that nothing may close any more."""
        self.nesting = {"expression": 0, "relation": 0, "calculation": 0}
        """How many of each rule are under way, counted as cel-go's parser does."""
        self.height = 0
        """How many operators, selections and calls stand within each other in what was read last."""

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def parse(self) -> Expr:
        node = self.expression()
        if self.token.kind != "end":
            what = "extraneous" if self.following.kind == "end" else "mismatched"
            raise self.error(f"Syntax error: {what} input '{self.token.text}' expecting <EOF>")
        if self.height > MAX_DEPTH:
            raise self.too_deep("max recursion depth exceeded")
        if self.issues:
            raise CompileError(self.source, self.issues)
        return node

    def too_deep(self, message: str) -> CompileError:
        return CompileError(self.source, [*self.issues, Issue(NOWHERE, message)])

    def enter(self, rule: str) -> None:
        """Count that a rule of the grammar begins. Raises CompileError."""
        self.nesting[rule] += 1
        if self.nesting[rule] > MAX_DEPTH:
            raise self.too_deep(f"expression recursion limit exceeded: {MAX_DEPTH}")

    def leave(self, rule: str) -> None:
        self.nesting[rule] -= 1

    def error(self, message: str, offset: int | None = None) -> CompileError:
        """With all that was wrong before; nothing is, where reading has only just gone on behind something wrong."""
        if self.at == self.resumed:
            return CompileError(self.source, self.issues)
        issue = Issue(self.token.offset if offset is None else offset, message)
        return CompileError(self.source, [*self.issues, issue])

    @property
    def following(self) -> Token:
        return self.tokens[min(self.at + 1, len(self.tokens) - 1)]

    def drop(self, expecting: str) -> None:
        """Go on without a token that is in the way of what is expected, as cel-go's parser does."""
        message = f"Syntax error: extraneous input '{self.token.text}' expecting {expecting}"
        self.issues.append(Issue(self.token.offset, message))
        self.at += 1

    def unexpected(self, expecting: str = _OPERAND) -> CompileError:
        return self.error(f"Syntax error: mismatched input '{self.token.text}' expecting {expecting}")

    def is_op(self, *texts: str) -> bool:
        token = self.token
        return token.kind == "op" and token.text in texts

    def take(self) -> Token:
        token = self.token
        self.at += 1
        return token

    def accept(self, text: str) -> Token | None:
        return self.take() if self.is_op(text) else None

    def expect(self, text: str) -> Token:
        """The operator `text`. Raises CompileError when it is neither here nor behind the token here."""
        if not self.is_op(text):
            if self.following.kind == "op" and self.following.text == text:
                self.drop(f"'{text}'")
            elif self.token.kind == "end" and text in _LAST:
                raise self.error(f"Syntax error: missing '{text}' at '<EOF>'")
            elif text == ":" and self.starts_operand(self.token):
                self.issues.append(Issue(self.token.offset, f"Syntax error: missing ':' at '{self.token.text}'"))
                return self.token
            else:
                raise self.unexpected(f"'{text}'")
        return self.take()

    def report(self, message: str, *, recoveries: int = 1, first: Token | None = None) -> None:
        """Note what is wrong and go on behind it, unless reading has only just gone on behind something wrong.

        `recoveries` is for how many cel-go's parser counts it, `first` the token that it began at, if not the one here.
        Raises CompileError after too many.
        """
        if self.at == self.resumed:
            raise CompileError(self.source, self.issues)
        self.issues.append(Issue(self.token.offset, message))
        self.check_recoveries(first)
        self.recoveries += recoveries
        self.resume()

    def check_recoveries(self, first: Token | None = None) -> None:
        """Raise CompileError when cel-go's parser does not try again to make sense of what follows."""
        if self.recoveries >= _MAX_RECOVERIES:
            text = f"Syntax error: error recovery attempt limit exceeded: {_MAX_RECOVERIES}"
            raise CompileError(self.source, [*self.issues, Issue((first or self.token).offset, text)])

    def begin(self, expecting: str, *others: str) -> None:
        """See to it that an operand comes here, or one of some other operators. Raises CompileError."""

        def fits(token: Token) -> bool:
            return (token.kind == "op" and token.text in others) or self.starts_operand(token)

        if not fits(self.token):
            if not fits(self.following):
                raise self.unexpected(expecting)
            self.drop(expecting)

    def another(self, closing: str) -> bool:
        """Whether a literal goes on: behind a comma, which may be its last. Raises CompileError."""
        if self.accept(","):
            if self.token.kind == "end":
                raise self.error(f"Syntax error: missing '{closing}' at '<EOF>'")
            if not self.is_op(","):
                return True
            self.expect(closing)  # no second comma
            self.at -= 1
            return False
        if not self.is_op(closing):
            expecting = f"{{'{closing}', ','}}"
            if self.following.kind != "op" or self.following.text not in (closing, ","):
                raise self.unexpected(expecting)
            self.drop(expecting)
            return self.another(closing)
        return False

    def expression(self) -> Expr:
        self.enter("expression")
        node = self.disjunction()
        question = self.accept("?")
        if question:
            height = self.height
            yes = self.disjunction()
            height = max(height, self.height)
            self.expect(":")
            no = self.expression()
            self.height = max(height, self.height) + 1
            node = Call("_?_:_", [node, yes, no], offset=question.offset)
        self.leave("expression")
        return node

    def disjunction(self) -> Expr:
        return self.terms("||", "_||_", self.conjunction)

    def conjunction(self) -> Expr:
        return self.terms("&&", "_&&_", self.relation)

    def terms(self, operator: str, function: str, read: Callable[[], Expr]) -> Expr:
        """Terms with a logical operator between them, as a tree that is as flat as can be, like cel-go's."""
        terms = [read()]
        offsets: list[int] = []
        height = self.height
        while op := self.accept(operator):
            offsets.append(op.offset)
            terms.append(read())
            height = max(height, self.height)
        self.height = height
        return _balanced(function, terms, offsets, 0, len(offsets))

    def relation(self) -> Expr:
        self.enter("relation")
        node = self.calculation()
        while True:
            if self.is_op(*_RELATIONS):
                op = self.take()
                node = self.operation(_RELATIONS[op.text], op, node, "relation", self.calculation)
            elif self.token.kind == "ident" and self.token.text == "in":
                node = self.operation("@in", self.take(), node, "relation", self.calculation)
            else:
                self.leave("relation")
                return node

    def calculation(self) -> Expr:
        self.enter("calculation")
        node = self.product()
        while self.is_op(*_ADDITIVE):
            op = self.take()
            node = self.operation(_ADDITIVE[op.text], op, node, "calculation", self.product)
        self.leave("calculation")
        return node

    def product(self) -> Expr:
        node = self.unary()
        while self.is_op(*_MULTIPLICATIVE):
            op = self.take()
            node = self.operation(_MULTIPLICATIVE[op.text], op, node, "calculation", self.unary)
        return node

    def operation(self, function: str, op: Token, left: Expr, rule: str, read: Callable[[], Expr]) -> Expr:
        """An operator behind its left operand: the right one is of a rule of the grammar that begins anew."""
        height = self.height
        self.enter(rule)
        right = read()
        self.leave(rule)
        self.height = max(height, self.height) + 1
        return Call(function, [left, right], offset=op.offset)

    def unary(self) -> Expr:
        if not self.is_op("!", "-"):
            return self.member(self.primary())
        op = self.take()
        if op.text == "-" and self.token.kind in ("int", "float"):
            return self.member(self.number(op))
        count = 1
        last = op
        while self.is_op(op.text):
            last = self.take()
            count += 1
        if op.text == "-" and count == 1 and self.is_op("!"):
            raise self.error("Syntax error: no viable alternative at input '-!'")
        if op.text == "!" and self.is_op("-") and self.following.kind not in ("int", "float"):
            minus = self.take()
            raise self.error(f"Syntax error: no viable alternative at input '{self.seen(minus)}'")
        if op.text == "-" and not self.starts_operand(self.token):
            message = f"Syntax error: no viable alternative at input '{self.seen(last)}'"
            self.issues.append(Issue(self.token.offset, message))
            raise self.unexpected()
        if self.token.kind == "end":
            raise self.error(f"Syntax error: extraneous input '<EOF>' expecting {_OPERAND}")
        first = self.number(self.take()) if self.is_op("-") else self.primary()
        operand = self.member(first)
        if count % 2 == 0:
            return operand
        return Call("!_" if op.text == "!" else "-_", [operand], offset=op.offset)

    def number(self, minus: Token) -> Expr:
        token = self.take()
        self.height = 0
        value = -token.value
        if token.kind == "int" and value < MIN_INT:
            raise self.error("invalid int literal", minus.offset)
        return Literal(value, offset=minus.offset)

    def member(self, node: Expr) -> Expr:
        while True:
            if self.is_op("."):
                node = self.selection(node)
            elif self.is_op("["):
                bracket = self.take()
                if (
                    not self.is_op("?")
                    and not self.starts_operand(self.token)
                    and not self.starts_operand(self.following)
                ):
                    self.abandoned.add(self.at - 1)
                    self.report(f"Syntax error: mismatched input '{self.token.text}' expecting {_INDEX}")
                    return node
                self.begin(_INDEX, "?")
                optional = self.accept("?")
                height = self.height
                index = self.expression()
                self.height = max(height, self.height) + 1
                self.expect("]")
                function = "_[?_]" if optional else "_[_]"
                node = Call(function, [node, index], offset=bracket.offset)
            elif self.is_op("{") and qualified_name(node):
                node = self.message(node)
            else:
                return node

    def selection(self, node: Expr) -> Expr:
        dot = self.take()
        optional = self.accept("?")
        if not optional and not self.is_name():
            last = self.token
            seen = self.seen(dot)
            message = f"no viable alternative at input '{seen}'"
            if seen in (".true", ".false", ".null"):
                message = f"mismatched input '{last.text}' expecting IDENTIFIER"
            self.issues.append(Issue(last.offset, f"Syntax error: {message}"))
            self.resume()
            return node
        name = self.name()
        height = self.height
        self.height += 1
        if optional:
            field = Literal(name.text, offset=name.offset)
            return Call("_?._", [node, field], offset=dot.offset)
        if self.is_op("(") and name.kind != "quoted":
            paren = self.take()
            args = self.arguments(")")
            self.height = max(height, self.height) + 1
            return self.call(name.text, node, args, paren.offset)
        return Select(node, name.text, offset=dot.offset)

    def seen(self, first: Token) -> str:
        """What is written from a token up to that here."""
        end = self.token.offset + (len(self.token.text) if self.token.kind != "end" else 0)
        return self.source[first.offset : end]

    def resume(self) -> None:
        """Go on at the next token that may stand behind an operand here."""
        before = [token for i, token in enumerate(self.tokens[: self.at]) if i not in self.abandoned]
        open_brackets: list[str] = []
        for token in before:
            if token.kind == "op" and token.text in _CLOSING:
                open_brackets.append(token.text)
            elif token.kind == "op" and open_brackets and token.text == _CLOSING[open_brackets[-1]]:
                open_brackets.pop()
        stops = {*_BEHIND_OPERANDS, *(_CLOSING[opening] for opening in open_brackets)}
        if open_brackets:
            stops.add(",")
        if "{" in open_brackets or any(token.kind == "op" and token.text == "?" for token in before):
            stops.add(":")
        while self.token.kind != "end" and not (self.token.kind in ("op", "ident") and self.token.text in stops):
            self.at += 1
        self.resumed = self.at

    def is_name(self) -> bool:
        """Whether a field may be called as the token is."""
        token = self.token
        return token.kind == "quoted" or (token.kind == "ident" and token.text not in _NO_NAMES)

    def name(self) -> Token:
        token = self.token
        if not self.is_name():
            raise self.unexpected("{IDENTIFIER, ESC_IDENTIFIER}")
        self.at += 1
        if token.kind == "quoted":  # cel-go reads them, and kube-apiserver does not allow them
            self.issues.append(Issue(token.offset, "unsupported syntax: '`'"))
        return token

    def call(self, function: str, target: Expr | None, args: list[Expr], offset: int) -> Expr:
        try:
            return expand(Call(function, args, target, offset=offset), binds=self.binds)
        except MacroError as problem:
            raise self.error(str(problem), problem.offset) from None

    def arguments(self, closing: str) -> list[Expr]:
        args: list[Expr] = []
        height = 0
        self.begin(_ARGUMENT, closing)
        if not self.is_op(closing):
            args.append(self.expression())
            height = self.height
            while self.accept(","):
                args.append(self.expression())
                height = max(height, self.height)
        self.height = height
        self.expect(closing)
        return args

    def primary(self) -> Expr:
        self.height = 0
        token = self.token
        match token.kind:
            case "int":
                self.at += 1
                if token.value > MAX_INT:
                    raise self.error("invalid int literal", token.offset)
                return Literal(token.value, offset=token.offset)
            case "uint" | "float" | "string" | "bytes":
                self.at += 1
                return Literal(token.value, offset=token.offset)
            case "ident" if token.text != "in":
                return self.identifier()
        if self.accept("("):
            node = self.expression()
            self.expect(")")
            return node
        if self.accept("["):
            return self.list_literal(token.offset)
        if self.accept("{"):
            return self.map_literal(token.offset)
        if self.accept("."):
            return self.behind_dot(token)
        return self.no_operand()

    def behind_dot(self, dot: Token) -> Expr:
        """The name that a leading dot looks up in no container."""
        token = self.token
        if token.kind == "ident" and token.text not in _NO_NAMES:
            return self.identifier()
        self.report(f"Syntax error: no viable alternative at input '{self.seen(dot)}'", recoveries=2, first=dot)
        return Literal(None, offset=dot.offset)

    def starts_operand(self, token: Token) -> bool:
        """Whether an operand may begin with a token."""
        if token.kind == "op":
            return token.text in "[{(.-!"
        return token.kind not in ("end", "quoted") and token.text != "in"

    def no_operand(self) -> Expr:
        """What is an operand without the token here; when that is none either, what stands behind one goes on."""
        if not self.starts_operand(self.following):
            token = self.token
            self.report(f"Syntax error: mismatched input '{token.text}' expecting {_OPERAND}")
            return Literal(None, offset=token.offset)
        self.drop(_OPERAND)
        return self.unary()

    def identifier(self) -> Expr:
        token = self.take()
        constant = {"true": True, "false": False, "null": None}.get(token.text, ...)
        if constant is not ...:
            return Literal(constant, offset=token.offset)
        if token.kind != "ident" or token.text == "in":
            self.at -= 1
            raise self.unexpected()
        if token.text in RESERVED:
            self.issues.append(Issue(token.offset, f"reserved identifier: {token.text}"))
        if self.is_op("("):
            paren = self.take()
            return self.call(token.text, None, self.arguments(")"), paren.offset)
        return Ident(token.text, offset=token.offset)

    def list_literal(self, offset: int) -> Expr:
        elements: list[Expr] = []
        optional: set[int] = set()
        height = 0
        self.begin(_LIST, "]", ",", "?")
        if self.accept(","):
            self.expect("]")
            return ListExpr(elements, frozenset(optional), offset=offset)
        while not self.is_op("]"):
            if self.accept("?"):
                optional.add(len(elements))
            elements.append(self.expression())
            height = max(height, self.height)
            if not self.another("]"):
                break
        self.height = height
        self.expect("]")
        return ListExpr(elements, frozenset(optional), offset=offset)

    def map_literal(self, offset: int) -> Expr:
        entries: list[Entry] = []
        height = 0
        self.begin(_MAP, "}", ",", "?")
        if self.accept(","):
            self.expect("}")
            return MapExpr(entries, offset=offset)
        while not self.is_op("}"):
            optional = self.accept("?") is not None
            key = self.expression()
            height = max(height, self.height)
            if not self.has_colon():
                self.check_recoveries()
                self.report(f"Syntax error: mismatched input '{self.token.text}' expecting ':'", recoveries=2)
                break
            self.expect(":")
            entries.append(Entry(key, self.expression(), optional))
            height = max(height, self.height)
            if not self.another("}"):
                break
        self.height = height
        self.expect("}")
        return MapExpr(entries, offset=offset)

    def has_colon(self) -> bool:
        """Whether a colon is here, behind the token here, or missing ahead of a value."""
        following = self.following
        ahead = following.kind == "op" and following.text == ":"
        return ahead or self.is_op(":") or self.starts_operand(self.token)

    def message(self, node: Expr) -> Expr:
        # cel-go finds a message where its brace opens.
        offset = self.take().offset
        fields: list[StructField] = []
        height = self.height
        if self.accept(","):
            self.expect("}")
            return StructExpr(qualified_name(node), fields, offset=offset)
        while not self.is_op("}"):
            optional = self.accept("?") is not None
            if not fields and not optional and not self.is_name():
                raise self.unexpected(_FIELD)
            name = self.name()
            colon = self.expect(":")
            fields.append(StructField(name.text, self.expression(), optional, colon.offset))
            height = max(height, self.height)
            if not self.another("}"):
                break
        self.height = height
        self.expect("}")
        return StructExpr(qualified_name(node), fields, offset=offset)


def _balanced(function: str, terms: list[Expr], offsets: list[int], low: int, high: int) -> Expr:
    """The terms from `low` to `high`, with the operators between them that stand at `offsets`."""
    if low == high:
        return terms[low]
    middle = (low + high) // 2
    left = _balanced(function, terms, offsets, low, middle)
    right = _balanced(function, terms, offsets, middle + 1, high)
    return Call(function, [left, right], offset=offsets[middle])


def qualified_name(node: Expr) -> str:
    """The dotted name that an expression spells, "" when it is something else."""
    match node:
        case Ident():
            return node.name
        case Select() if not node.test_only:
            prefix = qualified_name(node.operand)
            return f"{prefix}.{node.field}" if prefix else ""
    return ""

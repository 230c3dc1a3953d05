"""The cost estimate of a checked expression: the worst case, given the sizes that its variables may have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from watchkeeper.cel import costs
from watchkeeper.cel.ast import (
    ACCUMULATOR,
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)
from watchkeeper.cel.costs import UNLIMITED, ceil, plus, times
from watchkeeper.cel.types import OPTIONAL_NAME, Kind, Type


@dataclass(frozen=True, slots=True)
class Span:
    """A least and a greatest amount, of cost or of size."""

    low: int
    high: int

    def __add__(self, other: Span) -> Span:
        return Span(plus(self.low, other.low), plus(self.high, other.high))

    def __mul__(self, other: Span) -> Span:
        return Span(times(self.low, other.low), times(self.high, other.high))

    def by(self, factor: float) -> Span:
        """Each bound times a factor, rounded up."""
        return Span(ceil(self.low * factor), ceil(self.high * factor))

    def union(self, other: Span) -> Span:
        """From the lesser to the greater of both."""
        return Span(min(self.low, other.low), max(self.high, other.high))


NOTHING, ONE = Span(0, 0), Span(1, 1)
UNKNOWN = Span(0, UNLIMITED)
_SCALARS = frozenset((Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT))

Path = tuple[str, ...]
SizeOf = Callable[[Path], "Span | None"]
"""The size that a schema allows at a path such as ("self", "ports", "@items", "name")."""


class _Steps:
    """A path as Go holds it: a slice, which shares its array with others as long as that has room.

    What is put behind two slices of one array lies in one place, so the later step takes the place of the earlier one.
    The reference's estimates are affected by that: in `self.a[0].all(k, v, …)`, k has the size of v.
    """

    __slots__ = ("_array", "_length")

    def __init__(self, array: list[str], length: int) -> None:
        self._array = array
        self._length = length

    def then(self, step: str) -> _Steps:
        """Go's append."""
        array, length = self._array, self._length
        if length == len(array):
            array = [*array, *[""] * max(length, 1)]
        array[length] = step
        return _Steps(array, length + 1)

    def path(self) -> Path:
        """The steps as they are now."""
        return tuple(self._array[: self._length])


_NO_STEPS = _Steps([], 0)


@dataclass(frozen=True, slots=True)
class _Entries:
    is_list: bool
    key: Span
    value: Span

    def union(self, other: _Entries | None) -> _Entries | None:
        if other is None:
            return None
        return _Entries(self.is_list, self.key.union(other.key), self.value.union(other.value))


@dataclass(frozen=True, slots=True)
class _Variable:
    path: _Steps
    size: Span | None
    entries: _Entries | None


def estimate(node: Expr, size_of: SizeOf) -> Span:
    """The least and the greatest cost of evaluating a checked expression."""
    return _Estimator(size_of).cost(node)


class _Estimator:
    def __init__(self, size_of: SizeOf) -> None:
        self.size_of = size_of
        self.paths: dict[int, _Steps] = {}
        self.sizes: dict[int, Span] = {}
        self.entries: dict[int, _Entries] = {}
        self.locals: dict[str, list[_Variable]] = {}

    def cost(self, node: Expr) -> Span:
        match node:
            case Literal():
                return NOTHING
            case Ident():
                return self.cost_ident(node)
            case Select():
                return self.cost_select(node)
            case Call():
                return self.cost_call(node)
            case ListExpr():
                return self.cost_list(node)
            case MapExpr():
                return self.cost_map(node)
            case StructExpr():
                return sum((self.cost(f.value) for f in node.fields), Span(costs.STRUCT, costs.STRUCT))
            case Comprehension():
                return self.cost_bind(node) if node.macro.name == "bind" else self.cost_loop(node)

    def local(self, name: str) -> _Variable | None:
        found = self.locals.get(name)
        return found[-1] if found else None

    def cost_ident(self, node: Ident) -> Span:
        variable = self.local(node.name)
        self.paths[id(node)] = variable.path if variable is not None else _NO_STEPS.then(node.name)
        return ONE

    def cost_select(self, node: Select) -> Span:
        total = self.cost(node.operand)
        if node.test_only:
            return total
        if node.field == "":
            self.paths[id(node)] = self.path(node.operand)
            return total
        if node.operand.type.kind in (Kind.MAP, Kind.STRUCT, Kind.PARAM):
            total += ONE
        self.paths[id(node)] = self.path(node.operand).then(node.field)
        return total

    def cost_call(self, node: Call) -> Span:
        if node.function == "dyn":
            total = ONE + self.cost(node.args[0])
            self.copy_sizes(node, node.args[0])
            return total
        arg_costs = [self.cost_operand(arg) for arg in node.args]
        total = self.cost_operand(node.target) if node.target is not None else NOTHING
        worst = Span(UNLIMITED, 0)
        result: Span | None = None
        for overload_id in node.overloads:
            cost, size = self.overload_cost(node, overload_id, arg_costs)
            worst = worst.union(cost)
            if size is not None:
                result = size if result is None else result.union(size)
            if overload_id in ("index_list", "index_map"):
                entries = self.entries_of(node.args[0])
                result = entries.value if entries is not None else None
                step = "@items" if overload_id == "index_list" else "@values"
                self.paths[id(node)] = self.path(node.args[0]).then(step)
            if result is None:
                result = self.size(node)
        if result is not None:
            self.sizes[id(node)] = result
        return total + worst

    def cost_operand(self, node: Expr) -> Span:
        """The cost of an operand, whose size is looked up before the next one can change the path to it."""
        cost = self.cost(node)
        self.size(node)
        return cost

    def overload_cost(self, node: Call, overload_id: str, arg_costs: list[Span]) -> tuple[Span, Span | None]:
        evaluated = sum(arg_costs, NOTHING)
        if overload_id in ("logical_and", "logical_or"):
            return Span(arg_costs[0].low, evaluated.high), None
        if overload_id == "conditional":
            return self.conditional(node, arg_costs)
        special = _ESTIMATES.get(node.function)
        if special is not None:
            found = special(self, node, overload_id)
            if found is not None:
                return found[0] + evaluated, found[1]
        if overload_id in ("add_string", "add_bytes", "add_list"):
            return self.concatenation(node, overload_id, evaluated)
        return self.standard_cost(node, overload_id) + evaluated, self.standard_size(node, overload_id)

    def conditional(self, node: Call, arg_costs: list[Span]) -> tuple[Span, Span | None]:
        yes, no = node.args[1], node.args[2]
        first, second = self.entries_of(yes), self.entries_of(no)
        joined = first.union(second) if first is not None else None
        if joined is not None:
            self.entries[id(node)] = joined
        return arg_costs[0] + arg_costs[1].union(arg_costs[2]), self.known(yes).union(self.known(no))

    def concatenation(self, node: Call, overload_id: str, evaluated: Span) -> tuple[Span, Span | None]:
        first, second = self.entries_of(node.args[0]), self.entries_of(node.args[1])
        joined = first.union(second) if first is not None else None
        if joined is not None:
            self.entries[id(node)] = joined
        size = self.known(node.args[0]) + self.known(node.args[1])
        cost = ONE if overload_id == "add_list" else size.by(costs.TRAVERSAL)
        return cost + evaluated, size

    def standard_cost(self, node: Call, overload_id: str) -> Span:
        operands = node.operands
        if overload_id in ("starts_with_string", "ends_with_string"):
            return self.known(node.args[0]).by(costs.TRAVERSAL)
        if overload_id in ("string_format", "string_to_bytes", "bytes_to_string", "strings_quote"):
            return self.known(operands[0]).by(costs.TRAVERSAL)
        if overload_id == "in_list":
            return self.known(node.args[1]).by(1)
        if overload_id == "matches_string":
            text = (self.known(operands[0]) + ONE).by(costs.TRAVERSAL)
            return text * self.known(operands[1]).by(costs.REGEX)
        if overload_id == "contains_string":
            return self.known(operands[0]).by(costs.TRAVERSAL) * self.known(operands[1]).by(costs.TRAVERSAL)
        if overload_id in costs.ORDERING:
            most = min(self.known(operands[0]).high, self.known(operands[1]).high)
            return Span(1 if most else 0, most).by(costs.TRAVERSAL)
        return ONE

    def standard_size(self, node: Call, overload_id: str) -> Span | None:
        if overload_id not in ("string_to_bytes", "bytes_to_string", "strings_quote"):
            return None
        size = self.known(node.args[0])
        if overload_id == "string_to_bytes":
            return Span(size.low, times(size.high, 4))
        if overload_id == "bytes_to_string":
            return Span(size.low // 4, size.high)
        return Span(plus(size.low, 2), plus(times(size.high, 2), 2))

    def cost_list(self, node: ListExpr) -> Span:
        total = Span(costs.LIST, costs.LIST)
        item = Span(UNLIMITED if node.elements else 0, 0)
        for element in node.elements:
            total += self.cost(element)
            item = item.union(self.known(element))
        self.entries[id(node)] = _Entries(True, ONE, item)
        return total

    def cost_map(self, node: MapExpr) -> Span:
        total = Span(costs.MAP, costs.MAP)
        key = value = Span(UNLIMITED if node.entries else 0, 0)
        for entry in node.entries:
            total += self.cost(entry.key) + self.cost(entry.value)
            key, value = key.union(self.known(entry.key)), value.union(self.known(entry.value))
        self.entries[id(node)] = _Entries(False, key, value)
        return total

    def cost_loop(self, node: Comprehension) -> Span:
        total = self.cost(node.range) + self.cost(node.init)
        self.push(node.accu, _Variable(self.path(node.init), self.size(node.init), self.entries_of(node.init)))
        pushed = self.push_loop_variables(node)
        each = self.cost(node.condition) + self.cost(node.step)
        for name in pushed:
            self.locals[name].pop()
        total += self.cost(node.result)
        self.locals[node.accu].pop()
        count = self.known(node.range)
        total += count * each
        if isinstance(node.init, Literal):
            size = self.size(node.init)
            if size is not None:
                self.sizes[id(node)] = size
        else:
            self.sizes[id(node)] = count
            entries = self.entries_of(node.step)
            if entries is not None:
                self.entries[id(node)] = entries
        return total

    def push_loop_variables(self, node: Comprehension) -> list[str]:
        entries = self.entries_of(node.range)
        is_list = entries.is_list if entries is not None else node.range.type.kind is Kind.LIST
        path = self.path(node.range)
        keys, values = ("@indices", "@items") if is_list else ("@keys", "@values")
        if node.var2 or not is_list:
            self.push(node.var, _Variable(path.then(keys), entries.key if entries else None, None))
        else:
            self.push(node.var, _Variable(path.then(values), entries.value if entries else None, None))
        if not node.var2:
            return [node.var]
        self.push(node.var2, _Variable(path.then(values), entries.value if entries else None, None))
        return [node.var, node.var2]

    def push(self, name: str, variable: _Variable) -> None:
        self.locals.setdefault(name, []).append(variable)

    def cost_bind(self, node: Comprehension) -> Span:
        total = self.cost(node.range) + self.cost(node.init)
        self.push(node.accu, _Variable(self.path(node.init), self.size(node.init), self.entries_of(node.init)))
        total += self.cost(node.result)
        self.locals[node.accu].pop()
        self.copy_sizes(node, node.result)
        return total

    def copy_sizes(self, to: Expr, source: Expr) -> None:
        size, entries = self.size(source), self.entries_of(source)
        if size is not None:
            self.sizes[id(to)] = size
        if entries is not None:
            self.entries[id(to)] = entries

    def path(self, node: Expr) -> _Steps:
        if isinstance(node, Ident):
            variable = self.local(node.name)
            if variable is not None:
                return variable.path
        return self.paths.get(id(node), _NO_STEPS)

    def known(self, node: Expr) -> Span:
        return self.size(node) or UNKNOWN

    def size(self, node: Expr) -> Span | None:
        found = self.sizes.get(id(node)) or _literal_size(node)
        if found is not None:
            return found
        path = self.path(node).path()
        if path and path[0] != ACCUMULATOR:
            allowed = self.size_of(path)
            if allowed is not None:
                self.sizes[id(node)] = allowed
                return allowed
        if _is_scalar(node.type):
            return ONE
        if isinstance(node, Ident):
            variable = self.local(node.name)
            if variable is not None:
                return variable.size
        return None

    def element_size(self, node: Expr) -> Span:
        """The size of the items of a list."""
        path = self.path(node).path()
        return (self.size_of((*path, "@items")) if path else None) or UNKNOWN

    def entries_of(self, node: Expr) -> _Entries | None:
        found = self.entries.get(id(node))
        if found is None and isinstance(node, Ident):
            variable = self.local(node.name)
            if variable is not None:
                return variable.entries
        return found


def _literal_size(node: Expr) -> Span | None:
    match node:
        case Literal(value=str() | bytes() as value):
            return Span(len(value), len(value))
        case Literal():
            return ONE
        case ListExpr():
            return Span(len(node.elements), len(node.elements))
        case MapExpr():
            return Span(len(node.entries), len(node.entries))
    return None


def _is_scalar(t: Type) -> bool:
    return t.kind in _SCALARS or (t.kind is Kind.OPAQUE and t.name == OPTIONAL_NAME and _is_scalar(t.params[0]))


Estimated = tuple[Span, "Span | None"]


def _ones(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    return ONE, None


def _check(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    return Span(costs.AUTHORIZATION_CHECK, costs.AUTHORIZATION_CHECK), None


def _selector(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    length = e.known(node.args[0])
    requirements = length.by(0.5).by(costs.LIST + costs.STRUCT)
    return Span(costs.LIST, costs.LIST) + length.by(costs.TRAVERSAL) + requirements, None


def _aggregate(e: _Estimator, node: Call, overload_id: str) -> Estimated | None:
    if node.target is None:
        return None
    size = e.known(node.target)
    if not node.target.type.params:
        return size.by(costs.TRAVERSAL), None
    each = ONE
    if node.target.type.params[0].kind in (Kind.STRING, Kind.BYTES):
        each += e.element_size(node.target).by(costs.TRAVERSAL)
    return size * each, None


def _traversal(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    size = e.known(node.operands[0])
    keeps = node.target is not None or node.function in ("url", "jsonpatch.escapeKey")
    return size.by(costs.TRAVERSAL), size if keeps else None


def _replace(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    size, old, new = (e.known(n) for n in node.operands[:3])
    if old.low == 0:
        most, kept_most = plus(size.high, 1), size.high
    elif new.high <= old.low:
        most, kept_most = 0, size.high
    else:
        most, kept_most = -(-size.high // old.low), 0
    if old.high == 0:
        least, kept_least = plus(size.low, 1), size.low
    elif old.high <= new.low:
        least, kept_least = 0, size.low
    else:
        least, kept_least = -(-size.low // old.high), 0
    result = Span(least, most) * new + Span(kept_least, kept_most)
    return size.by(2 * costs.TRAVERSAL), result


def _split(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    size = e.known(node.operands[0])
    most = size.high
    if len(node.args) > 1 and isinstance(node.args[1], Literal) and isinstance(node.args[1].value, int):
        most = node.args[1].value % 2**64
    return size.by(2 * costs.TRAVERSAL), Span(0, most)


def _join(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    target = node.operands[0]
    count = e.known(target)
    size = count * e.element_size(target)
    if node.args:
        size += e.known(node.args[0]) * Span(max(count.low - 1, 0), max(count.high - 1, 0))
    return size.by(costs.TRAVERSAL), size


def _find(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    size = e.known(node.operands[0])
    text = (size + ONE).by(costs.TRAVERSAL)
    return text * e.known(node.args[0]).by(costs.REGEX), Span(0, size.high)


def _ip(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    return (ONE, None) if overload_id == "cidr_ip" else (e.known(node.operands[0]).by(costs.TRAVERSAL), None)


def _canonical(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    return e.known(node.args[0]).by(2 * costs.TRAVERSAL), None


def _contains_network(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    size = Span(4, 16)
    cost = (size + size).by(costs.TRAVERSAL)
    if node.function == "containsCIDR":
        cost += size.by(costs.TRAVERSAL) + ONE
    if overload_id.endswith("_string"):
        cost += e.known(node.args[0]).by(costs.TRAVERSAL)
    return cost, None


def _validate(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    regex = costs.MAX_NAME_FORMAT_REGEX * costs.REGEX
    return e.known(node.args[0]).by(costs.TRAVERSAL).by(regex), None


def _equality(e: _Estimator, node: Call, overload_id: str) -> Estimated | None:
    first, second = node.args[0].type, node.args[1].type
    if not first.same(second) or first.name not in costs.CONSTANT_EQUALITY:
        return None
    if first.name == "kubernetes.NamedFormat":
        return Span(1, 64).by(costs.TRAVERSAL), None
    if first.name == "kubernetes.URL":
        size = e.size(node.args[1])
        return Span(1, size.high if size is not None else 1).by(costs.TRAVERSAL), None
    return ONE, None


def _new_list(factor: float, size: Span) -> Estimated:
    """What a function costs that goes through `size` items, or pairs of items, and makes a list."""
    return size.by(factor) + ONE + Span(costs.LIST, costs.LIST), size


def _slice(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    start, end = _literal_number(node.args[0]), _literal_number(node.args[1])
    most = e.known(node.operands[0]).high if end is None else end
    return _new_list(1, _exactly((most - (start or 0)) % 2**64))


def _range(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    length = _literal_number(node.args[0])
    return _new_list(1, _exactly(UNLIMITED if length is None else length))


def _reverse(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    return _new_list(1, e.known(node.operands[0]))


def _flatten(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    depth = _literal_number(node.args[0]) if node.args else 1
    return _new_list(UNLIMITED if depth is None else depth, e.known(node.operands[0]))


def _compare_all(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    """Each item with each other one; those of texts are dearer, unless they are only told apart."""
    size = e.known(node.args[0] if node.args else node.operands[0])
    texts = overload_id.startswith(("list_string_", "list_bytes_"))
    return _new_list(costs.COMPARISON + (costs.TRAVERSAL if texts else 0), size * size)


def _sets(e: _Estimator, node: Call, overload_id: str) -> Estimated:
    first, second = (e.known(n) for n in node.args)
    return (first * second).by(costs.SETS[overload_id]) + ONE, None


def _exactly(size: int) -> Span:
    return Span(size, size)


def _literal_number(node: Expr) -> int | None:
    """An integer that is written there; what is less than nothing counts as nothing."""
    if isinstance(node, Literal) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return max(node.value, 0)
    return None


Special = Callable[[_Estimator, Call, str], "Estimated | None"]


def _table() -> dict[str, Special]:
    table: dict[str, Special] = dict.fromkeys(costs.ONE_FUNCTIONS, _ones)
    table |= dict.fromkeys(costs.TRAVERSALS, _traversal)
    groups: Sequence[tuple[Special, str]] = (
        (_check, "check"),
        (_selector, "fieldSelector labelSelector"),
        (_aggregate, "isSorted sum max min indexOf lastIndexOf"),
        (_replace, "replace"),
        (_split, "split"),
        (_join, "join"),
        (_find, "find findAll"),
        (_ip, "ip"),
        (_canonical, "ip.isCanonical"),
        (_contains_network, "containsIP containsCIDR"),
        (_validate, "validate"),
        (_equality, "_==_"),
        (_slice, "slice"),
        (_range, "lists.range"),
        (_reverse, "reverse"),
        (_flatten, "flatten"),
        (_compare_all, "distinct sort @sortByAssociatedKeys"),
        (_sets, "sets.contains sets.equivalent sets.intersects"),
    )
    for special, names in groups:
        table |= dict.fromkeys(names.split(), special)
    return table


_ESTIMATES = _table()

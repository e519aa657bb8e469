"""The part of printing that is the same for all languages: identifiers, order of statements, and loops over lanes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from semirings.expr import Expr, Symbol, at_lane, free_symbols, in_order, make_tuple, node, of_lanes
from semirings.types import TupleType, Type, VectorType, has_wide

EXPENSIVE = 8  # A branch that skips at least this many operations is faster than computing them always.
# the operations of nodes that are printed where they are used, without a temporary variable
INLINE = ("symbol", "constant", "item", "vector", "tuple")


def identifiers(names: Sequence[str], reserved: Collection[str]) -> list[str]:
    """Return distinct identifiers for printed code that resemble `names`, and are not among the words `reserved`."""
    taken = set(reserved)
    result = []
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII) or "_"
        plain = f"_{plain}" if plain[0].isdigit() else plain
        while plain in taken:
            plain += "_"
        taken.add(plain)
        result.append(plain)
    return result


def temporary_prefix(names: Collection[str]) -> str:
    """Return the prefix for the names of temporary variables in a printed function.

    It is ``t``, or longer if a parameter has a name such as ``t0``. `names` has the parameters' names.
    """
    prefix = "t"
    while any(re.fullmatch(rf"{prefix}\d+", name) for name in names):
        prefix += "_"
    return prefix


def check_parameters(name: str, parameters: Sequence[Symbol], results: Sequence[Expr]) -> None:
    """Raise an error if a function's parameter is no symbol, or if its results read a symbol that is no parameter.

    `name` is the function's name, for the error.
    """
    for parameter in parameters:
        if not isinstance(parameter, Symbol):
            raise TypeError(f"{name}: parameter {parameter!r} is not a Symbol")
    missing = [str(symbol) for symbol in free_symbols(results) if symbol not in set(parameters)]
    if missing:
        raise ValueError(f"{name} reads {', '.join(missing)}, not among its parameters {[str(p) for p in parameters]}")


def arrays_in(exprs: Sequence[Expr]) -> set[Expr]:
    """Return the symbols that stand for whole arrays, from which expressions read an item by its index."""
    return {e.args[0] for e in in_order(exprs) if e.op == "load"}


class Line(NamedTuple):
    """A statement that defines a temporary variable: the variable's name, its type, and the text of its value."""

    name: str
    type: Type
    text: str


class Each(NamedTuple):
    """A loop over the lanes (items) of wide vectors, which it computes.

    In each iteration `lines` run, then one lane of each vector is assigned: the text of each of `values` to its
    variable.
    """

    length: int
    lines: list[Line]
    values: list[Line]


class Fold(NamedTuple):
    """A loop that reduces the items (lanes) of a wide vector to a variable, whose first value is that of lane 0."""

    value: Line
    first: str
    length: int
    lines: list[Line]


class Branch(NamedTuple):
    """A variable that is computed by `statements` if a condition holds, and otherwise has the value `otherwise`.

    If `negated`, it is computed if the condition does not hold. So an expensive value is computed only if it is needed.
    """

    value: Line
    otherwise: str
    condition: str
    negated: bool
    statements: list[Any]


Statement = Line | Each | Fold | Branch


def statements(
    results: Sequence[Expr],
    known: Mapping[Expr, str],
    expression: Callable[[Expr, list[str]], str],
    targets: Mapping[Expr, str] = {},
    branches: bool = False,
) -> tuple[list[Statement], list[str]]:
    """
    Return the statements of a function's body, in which each variable is assigned once, and the texts of the results.

    `known` gives the names of parameters and tables, and `targets` the names of the wide vectors among the results. A
    single result that nothing else reads is printed in place. With `branches`, an expensive value that is needed only
    if a condition holds is computed only then.

    Values that are equal for all lanes are computed before any loop that fills a target, and each iteration of such a
    loop reads a lane before it writes it. So a target may be a vector from which a result is computed.
    """
    return Body(known, expression, targets, branches).write(results)


class Body:
    """A converter of the expressions that a function returns into the statements of the function's body."""

    def __init__(
        self,
        known: Mapping[Expr, str],
        expression: Callable[[Expr, list[str]], str],
        targets: Mapping[Expr, str],
        branches: bool = False,
    ) -> None:
        self.expression, self.targets, self.branches = expression, targets, branches
        self.prefix, self.count = temporary_prefix(known.values()), 0
        self.texts: dict[Expr, str] = {**known, **targets}
        self.of_lanes: set[Expr] = set()

    def write(self, results: Sequence[Expr]) -> tuple[list[Statement], list[str]]:
        self.of_lanes = of_lanes(results)
        order = [e for e in in_order(results) if e not in self.of_lanes and e.op != "each"]
        uses = Counter(arg for e in in_order(results) for arg in e.args)
        alone = results[0] if len(results) == 1 and not uses[results[0]] and results[0].op != "fold" else None
        self.conditional = conditional(order, results) if self.branches and not self.of_lanes else {}
        lines = self._in_order(order, alone)
        lengths = {e.type.length: None for e in self.targets if isinstance(e.type, VectorType)}
        return [*lines, *map(self._each, lengths)], [self.texts[e] for e in results]

    def _in_order(self, order: Sequence[Expr], alone: Expr | None = None) -> list[Statement]:
        """Return the statements that compute the nodes in `order`, each of which comes after its arguments.

        Node `alone`, if any, is printed where it is used, without a temporary variable.
        """
        lines: list[Statement] = []
        inside = {one for e in order if e in self.conditional for one in self.conditional[e].nodes}
        for e in order:
            if e in inside or e in self.texts:
                continue
            if e.op == "fold":
                lines.append(self.fold(e))
            elif e in self.conditional:
                lines.append(self._branch(e))
            else:
                lines += self._line(e, self.texts, inline=e is alone)
        return lines

    def _branch(self, e: Expr) -> Branch:
        """Return the statement for a node with an argument that is computed only if a condition holds."""
        lazy = self.conditional[e]
        otherwise, condition = self.texts[lazy.otherwise], self.texts[lazy.condition]
        inner = self._in_order(lazy.nodes)
        name = self.temporary()
        value = Line(name, e.type, self.texts[lazy.nodes[-1]])
        self.texts[e] = name
        return Branch(value, otherwise, condition, lazy.negated, inner)

    def _line(self, e: Expr, texts: dict[Expr, str], inline: bool = False) -> list[Line]:
        """Return the line that defines a node's temporary variable, or no line if the node is printed where it is used.

        `texts` has the text of each node so far, and gets that of this node.
        """
        text = self.expression(e, [texts[arg] for arg in e.args])
        if inline or self.is_simple(e):
            texts[e] = text
            return []
        texts[e] = self.temporary()
        return [Line(texts[e], e.type, text)]

    def is_simple(self, e: Expr) -> bool:
        """Return whether a node is printed where it is used, without a temporary variable that holds its value."""
        return e.op in INLINE

    def temporary(self) -> str:
        """Return a name for a new temporary variable of the printed function."""
        self.count += 1
        return f"{self.prefix}{self.count - 1}"

    def in_loop(self, exprs: Sequence[Expr], texts: dict[Expr, str]) -> list[Line]:
        """Return the lines that compute some expressions in the body of a loop over the lanes (items) of vectors.

        `texts` has the text of each node that is known before the lines, and gets the texts of the nodes that they
        compute.
        """
        order = [e for e in in_order(exprs, within=False) if e in self.of_lanes and e not in texts]
        return [line for e in order for line in self._line(e, texts)]

    def _each(self, length: int) -> Each:
        texts = dict(self.texts)
        wide = [e for e in self.targets if isinstance(e.type, VectorType) and e.type.length == length]
        lines = self.in_loop([e.args[0] for e in wide], texts)
        return Each(length, lines, [Line(self.targets[e], e.dtype, texts[e.args[0]]) for e in wide])

    def fold(self, e: Expr) -> Fold:
        """Return the loop that reduces the lanes (items) of a wide vector to a scalar, for a node ``"fold"``."""
        first, body, combination = e.args
        self.texts[e] = name = self.temporary()
        texts = dict(self.texts)
        lines = self.in_loop([body], texts)
        sides = {side: node(side, e.type) for side in ("left", "right")}
        texts |= {sides["left"]: name, sides["right"]: texts[body]}
        lines += self.in_loop([combination], texts)
        return Fold(Line(name, e.type, texts[combination]), self.texts[first], e.payload, lines)


class Conditional(NamedTuple):
    """An argument of a node that is needed only if a condition holds, so that it need not always be computed.

    The argument is the last of `nodes`, which are computed only for it. If the condition does not hold, the node has
    the value `otherwise`. If `negated`, the two cases are exchanged.
    """

    condition: Expr
    negated: bool
    otherwise: Expr
    nodes: list[Expr]  # the nodes, in topological order, that are computed only for this argument


def conditional(order: Sequence[Expr], results: Sequence[Expr]) -> dict[Expr, Conditional]:
    """Return the nodes that have an expensive argument which is not always needed, with descriptions of the argument.

    These nodes are `where`, and `&` and `|` of bools. `order` has all nodes in topological order, and `results` those
    that the function returns.
    """
    users: dict[Expr, list[Expr]] = {}
    for e in order:
        for arg in e.args:
            users.setdefault(arg, []).append(e)
    by_node: dict[Expr, Conditional] = {}
    for e in order:
        if not isinstance(e.type, np.dtype):
            continue
        if e.op == "where":
            ways = [(0, 1, 2, False), (0, 2, 1, True)]
        elif e.op in ("bitwise_and", "bitwise_or") and e.type.kind == "b":
            ways = [(0, 1, 0, e.op == "bitwise_or"), (1, 0, 1, e.op == "bitwise_or")]
        else:
            continue
        for condition, lazy, otherwise, negated in ways:
            nodes = _nodes_only_for(e, e.args[lazy], order, users, results)
            if sum(one.op not in INLINE for one in nodes) >= EXPENSIVE:
                by_node[e] = Conditional(e.args[condition], negated, e.args[otherwise], nodes)
                break
    return by_node


def _nodes_only_for(
    e: Expr, arg: Expr, order: Sequence[Expr], users: Mapping[Expr, list[Expr]], results: Sequence[Expr]
) -> list[Expr]:
    """Return the nodes, in topological order, that are computed only for argument `arg` of node `e`.

    `order` has all nodes, and `users` the nodes that use each node. The list is empty if another node uses the
    argument, or if it is one of the function's `results`.
    """
    result_nodes = set(results)
    if len(users[arg]) > 1 or arg in result_nodes:
        return []
    below, needed = set(in_order(arg)) - result_nodes, {arg}
    for candidate in reversed(order):
        if candidate in below and candidate is not arg and needed.issuperset(users[candidate]):
            needed.add(candidate)
    return [
        candidate for candidate in order if candidate in needed and candidate.op not in ("symbol", "constant", "table")
    ]


def wide_results(results: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
    """Return the results of a function with each wide vector written as a loop, and a list of these loops.

    A wide vector that is a parameter becomes a loop that copies it.
    """
    loops: list[Expr] = []

    def of(e: Expr) -> Expr:
        if isinstance(e.type, TupleType) and has_wide(e.type):
            return make_tuple(map(of, e), e.type.names)
        if not (isinstance(e.type, VectorType) and e.type.is_wide):
            return e
        loops.append(e if e.op == "each" else node("each", e.type, at_lane(e)))
        return loops[-1]

    return [of(e) for e in results], loops


def tables(results: Sequence[Expr]) -> dict[Expr, str]:
    """Return the tables of constants that the results of a function read, each with a name derived from its content."""
    return {e: f"table_{sha256(e.payload).hexdigest()[:12]}_{e.dtype}" for e in in_order(results) if e.op == "table"}

"""Specializes the kernel templates of `gasla/cpu/kernels` for one program, by partial evaluation with its plan.

A file of kernels that imports `plan` from here is a template: it is parsed and never run. Some names have values while
code is generated: `plan`, the constants of the file, and what it imports from `gasla.program`, `decisions.py` and
`semirings`. Expressions of these names are evaluated, so that

- `if plan.pushes:` leaves one branch, also within `and`, `or`, `not` and `a if b else c`; so does `match`;
- `for name in plan.aggregates:` is unrolled, and `tuple(… for i in range(plan.width))` becomes a tuple;
- `sum_[name]` is one name, such as `sum_total`, and `local[role, field]` another, such as `src_level`;
- a function without a decorator is inlined into its caller, whose variables it sees. Its parameters stand for the
  arguments, and the call for what it returns; in a `for` loop over its call, `yield` stands for the loop's body;
- a function with a decorator becomes a function of the module. One whose name ends with `_` becomes a function for each
  key: `improve_[3](…)` calls the one in which `key` is 3. A function without parameters takes the arguments of the
  kernel that it uses, and is called without arguments;
  `*arrays` at the end of its parameters stands for the names in `plan.arrays`;
- `leave(x)` returns x from the generated function, also where it stands in a function that is inlined into it;
- where `plan.total` is an `Arrays`, `plan.total[i]` is the value that its arrays have at an index, read or assigned;
- in a function marked `where_used`, only assignments to variables that are used elsewhere are kept; `is_used(name)`
  tells whether a variable is used so far.
"""

import ast
import builtins
import contextlib
import functools
import importlib
import operator
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

plan: Any = None  # these names exist for linters: templates are never run
local: Any = None
key: Any = None


def where_used(function: Any) -> Any:
    """Mark a function whose assignments are kept only if the variables are used."""
    return function


def leave(value: Any = None) -> None:
    """Return a value from the generated function."""


def is_used(name: str) -> bool:
    """Whether the function so far uses a variable."""
    raise NotImplementedError


FOLDER = Path(__file__).parents[1] / "kernels"
KERNELS, OWN = "gasla.cpu.kernels", "gasla.cpu.program.specialize"
KNOWN = (
    "gasla.program",
    "gasla.cpu.program.decisions",
    "semirings",
)  # modules whose names have values while code is generated
BUILTIN = frozenset(
    ("isinstance", "len", "list", "enumerate", "range", "reversed", "sorted", "tuple", "zip", "bool", "map", "str")
)
OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Not: operator.not_, ast.USub: operator.neg, ast.Add: operator.add, ast.Sub: operator.sub,
    ast.Mult: operator.mul, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.LShift: operator.lshift,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.is_, ast.IsNot: operator.is_not, ast.Lt: operator.lt,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
}  # fmt: skip
PREFIX = "_[]"  # in the set of an expression's names, marks an expression with a prefix of names, such as `sum_`
INDENT = "    "


class NotKnown(Exception):
    """A template needs the value of an expression that has none before the generated text runs."""


class Code:
    """An expression of the generated text, in place of a value."""

    def __init__(self, node: ast.expr) -> None:
        self.node = node

    def _refuse(self, *_: Any) -> Any:
        raise NotKnown(ast.unparse(self.node))

    __bool__ = __len__ = __iter__ = __eq__ = __hash__ = _refuse


def code(text: str) -> Code:
    """Parse an expression."""
    return Code(ast.parse(text, mode="eval").body)


class Names:
    """Joins parts of names: `local["src", "level"]` is `src_level`; a list as the last part gives a tuple of names."""

    def __getitem__(self, parts: Any) -> Code:
        *first, last = [part for part in (parts if isinstance(parts, tuple) else (parts,)) if part is not None]
        if isinstance(last, str | int):
            return Code(ast.Name("_".join(map(str, (*first, last)))))
        return Code(ast.Tuple([self[(*first, each)].node for each in last]))


class Arrays:
    """Arrays that hold the parts of values: `plan.total[i]` is `total_0[i]`, or a tuple of the items of several arrays.

    The values of an array may begin at some offset in it.
    """

    def __init__(self, names: Iterable[str], is_tuple: bool, offsets: Iterable[int] = ()) -> None:
        self.names, self.is_tuple, self.offsets = tuple(names), is_tuple, tuple(offsets)

    def __getitem__(self, index: Any) -> Code:
        at, names = _lifted(index), map(ast.Name, self.names)
        places: list[ast.expr] = [
            ast.BinOp(code(f"np.uint64({offset})").node, ast.Add(), at) for offset in self.offsets
        ]
        found: list[ast.expr] = [*map(ast.Subscript, names, places or [at] * len(self.names))]
        return Code(ast.Tuple(found) if self.is_tuple else found[0])


class Template(NamedTuple):
    """A function of a file of kernels."""

    node: ast.FunctionDef
    file: "File"
    decorator: str  # empty if there is none


class File:
    """A file of kernels."""

    def __init__(self, text: str) -> None:
        self.known: dict[str, Any] = {}  # values of names while code is generated
        self.modules: dict[str, str] = {}  # the module of each name that the generated text may import
        body = ast.parse(text).body
        self.is_template = any(isinstance(node, ast.ImportFrom) and node.module == OWN for node in body)
        for node in body if self.is_template else ():
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                self._take(node.module, [alias.name for alias in node.names])
            elif isinstance(node, ast.Assign):
                exec(compile(ast.Module([node], []), "", "exec"), self.known)
        self.known.pop("__builtins__", None)
        for node in body:
            if isinstance(node, ast.FunctionDef):
                self.known[node.name] = Template(node, self, "".join(map(ast.unparse, node.decorator_list)))

    def _take(self, module: str, names: Iterable[str]) -> None:
        for name in names:
            if name == "*":
                found = vars(importlib.import_module(module))
                self.modules |= dict.fromkeys((each for each in found if each[0] != "_" and each != "np"), module)
            elif module.startswith(KNOWN):
                self.known[name] = getattr(importlib.import_module(module), name)
            elif module.startswith(KERNELS) and (file := parsed(module.removeprefix(f"{KERNELS}."))).is_template:
                self.known[name] = file.known[name]
            elif module != OWN:
                self.modules[name] = module


@functools.cache
def parsed(name: str) -> File:
    """The file of kernels of a name, parsed once."""
    return File((FOLDER / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8"))


class Function(NamedTuple):
    """A generated function: its name, parameters and text."""

    name: str
    takes: list[str]
    text: str


class _Line(NamedTuple):
    """A line of text, and the names in it. A line that sets names (`sets`) is kept only if one of them is used."""

    text: str
    names: frozenset[str]
    sets: frozenset[str] | None = None


class Specializer:
    """Generates functions from templates: those that are added, and those that they call."""

    def __init__(self, plan: Any, arguments: list[str]) -> None:
        self.plan, self.arguments = plan, arguments
        self.functions: dict[str, Function] = {}
        self.modules: dict[str, str] = {}  # the module of each name that functions may use
        self.names: set[str] = set()  # that functions use
        self._lines: list[_Line] = []
        self._depth, self._is_optional = 0, False  # state of the line being written

    def add(self, file: str, name: str) -> "Specializer":
        """Generate a function that Python calls: it takes all arguments of the kernel."""
        self._function(parsed(file).known[name], is_entry=True)
        return self

    @property
    def texts(self) -> list[str]:
        """The texts of all functions; callees come before their callers."""
        return [function.text for function in self.functions.values()]

    def imports(self, more: Mapping[str, str]) -> str:
        """Import statements for the names that functions use, and for `more` names, given with their modules."""
        found: dict[str, list[str]] = {}
        for name, module in sorted({**self.modules, **more}.items()):
            if name in self.names or name in more:
                found.setdefault(module, []).append(name)
        return "\n".join(f"from {module} import {', '.join(names)}" for module, names in sorted(found.items()))

    # --- functions ----------------------------------------------------------------------------------------------------

    def _function(self, template: Template, key: Any = None, is_entry: bool = False) -> Function:
        """Generate a function of the module, once; of a template whose name ends with `_`, once for each key."""
        node, file = template.node, template.file
        name = node.name if node.name[-1] != "_" else node.name[:-1] if key is None else f"{node.name}{key}"
        if name not in self.functions:
            known = self._scope(file) | ({"key": key} if node.name[-1] == "_" else {})
            outside, self._lines, self._depth = (self._lines, self._depth), [], 1
            self._put(f'"""{ast.get_docstring(node, clean=False)}"""', node.body[0])
            self._block(node.body[1:], known)
            lines, used = self._kept()
            takes = [arg.arg for arg in node.args.args]
            if node.args.vararg is not None:
                takes += getattr(self.plan, node.args.vararg.arg)
            takes = takes or [x for x in self.arguments if x in used or is_entry]
            mark = "compiled" if is_entry else template.decorator
            self.names |= used | {mark}
            text = "\n".join([f"@{mark}\ndef {name}({', '.join(takes)}):", *lines])
            self.functions[name] = Function(name, takes, text)
            self._lines, self._depth = outside
        return self.functions[name]

    def _scope(self, file: File, **more: Any) -> dict[str, Any]:
        """The names that have values at the beginning of a function."""
        self.modules |= file.modules
        return {**file.known, "plan": self.plan, "local": Names(), PREFIX: None, "is_used": self._is_used, **more}

    def _is_used(self, name: str) -> bool:
        return any(name in line.names for line in self._lines if line.sets is None)

    def _kept(self) -> tuple[list[str], set[str]]:
        """The lines of the current function without unused assignments, and the names in them."""
        used: set[str] = set().union(*(line.names for line in self._lines if line.sets is None))
        kept = []
        for line in reversed(self._lines):
            if line.sets is None or line.sets & used:
                kept.append(line.text)
                used |= line.names
        return kept[::-1], used

    # --- statements ---------------------------------------------------------------------------------------------------

    def _put(self, text: str, *nodes: ast.AST) -> None:
        names = frozenset[str]().union(*map(_names, nodes))
        is_optional = self._is_optional and isinstance(nodes[0], ast.Assign)
        sets = frozenset[str]().union(*map(_names, nodes[0].targets)) if is_optional else None  # type: ignore[attr-defined]
        self._lines.append(_Line(INDENT * self._depth + text, names, sets))

    def _block(self, body: Iterable[ast.stmt], scope: dict[str, Any]) -> ast.Return | None:
        """Write statements, up to the `return` of an inlined function, which is handed back."""
        for node in body:
            try:
                if (found := self._statement(node, scope)) is not None:
                    return found
            except Exception as error:
                error.add_note(f"in {_text_of(node).splitlines()[0]}")
                raise
        return None

    def _inner(self, body: Iterable[ast.stmt], scope: dict[str, Any]) -> None:
        """Write an indented block."""
        self._depth, count = self._depth + 1, len(self._lines)
        if self._block(body, scope) is not None:
            raise SyntaxError(
                "a function without a decorator returns under a condition that only the running kernel can decide"
            )
        if len(self._lines) == count:
            self._put("pass")
        self._depth -= 1

    def _statement(self, node: ast.stmt, scope: dict[str, Any]) -> ast.Return | None:
        match node:
            case ast.If():
                return self._if(node, scope)
            case ast.For():
                return self._for(node, scope)
            case ast.While():
                count = len(self._lines)
                test = self._expr(node.test, scope)
                if len(self._lines) > count:
                    raise SyntaxError(
                        f"{_text_of(node.test)}: the condition of a loop inlines a function that has statements"
                    )
                self._put(f"while {_text_of(test)}:", test)
                self._inner(node.body, scope)
            case ast.Match():
                return self._match(node, scope)
            case ast.Return() if "caller" in scope:
                return ast.Return(None if node.value is None else self._expr(node.value, scope))
            case ast.Expr(value=ast.Yield(value=value)) if "caller" in scope:
                assert value is not None
                loop, there = scope["caller"]
                found = self._expr(value, scope)
                if _text_of(found) != _text_of(loop.target):
                    self._put(f"{_text_of(loop.target)} = {_text_of(found)}", loop.target, found)
                return self._block(loop.body, there)
            case ast.Expr(value=ast.YieldFrom(value=over)) if "caller" in scope:
                target = scope["caller"][0].target
                return self._for(ast.For(target, over, [ast.Expr(ast.Yield(target))], []), scope)
            case ast.Expr(value=ast.Call(func=ast.Name(id="leave"), args=args)):
                found = self._rebuilt(ast.Return(args[0] if args else None), scope)
                self._put(_text(found), found)
            case ast.Expr(value=ast.Call(func=ast.Name(id=name)) as call) if _is_inlined(scope.get(name)):
                self._call(call, scope)
            case _ if _is_plain(node, scope):
                self._put(_text(node), node)
            case _:
                found = self._rebuilt(node, scope)
                self._put(_text(found), found)
        return None

    def _if(self, node: ast.If, scope: dict[str, Any]) -> ast.Return | None:
        test = self._test(node.test, scope)
        if isinstance(test, ast.Constant):
            return self._block(node.body if test.value else node.orelse, scope)
        self._put(f"if {_text_of(test)}:", test)
        self._inner(node.body, scope)
        if node.orelse:
            place = len(self._lines)
            self._put("else:")
            self._inner(node.orelse, scope)
            if [line.text.strip() for line in self._lines[place:]] == ["else:", "pass"]:
                del self._lines[place:]
        return None

    def _for(self, node: ast.For, scope: dict[str, Any]) -> ast.Return | None:
        if _is_known(node.iter, scope) or (isinstance(node.iter, ast.Tuple) and not _names(node.iter)):
            for item in _value(node.iter, scope):
                if (found := self._block(node.body, scope | _bound(node.target, item))) is not None:
                    return found
            return None
        match node.iter:
            case ast.Call(func=ast.Name(id=name)) if _is_inlined(scope.get(name)):
                self._call(node.iter, scope, node)
                return None
        target, over = self._expr(node.target, scope), self._expr(node.iter, scope)
        self._put(f"for {_bare(target)} in {_text_of(over)}:", target, over)
        self._inner(node.body, scope)
        return None

    def _match(self, node: ast.Match, scope: dict[str, Any]) -> ast.Return | None:
        """Write the case that matches; the subject has a value while code is generated."""
        found = dict(scope)
        exec(_cases(node), found)
        which = found.pop("_case", None)
        return None if which is None else self._block(node.cases[which].body, found)

    # --- expressions --------------------------------------------------------------------------------------------------

    def _expr(self, node: ast.expr, scope: dict[str, Any]) -> ast.expr:
        """An expression of the generated text; a constant if it has a value while code is generated."""
        if _is_plain(node, scope):
            return node
        if not isinstance(node, ast.Starred) and _is_known(node, scope):
            with contextlib.suppress(NotKnown):
                return _lifted(_value(node, scope))
        match node:
            case ast.Name(id=name):
                found = scope[name]
                return found.node if isinstance(found, Code) else ast.Name(name)
            case ast.BoolOp():
                return self._bool_op(node, scope)
            case ast.UnaryOp(op=ast.Not()):
                operand = self._test(node.operand, scope)
                if isinstance(operand, ast.Constant):
                    return ast.Constant(not operand.value)
                return ast.UnaryOp(ast.Not(), operand)
            case ast.IfExp():
                test = self._test(node.test, scope)
                if isinstance(test, ast.Constant):
                    return self._expr(node.body if test.value else node.orelse, scope)
                return ast.IfExp(test, self._expr(node.body, scope), self._expr(node.orelse, scope))
            case ast.Subscript(value=ast.Name(id=prefix), slice=index) if prefix[-1] == "_":
                return self._named(prefix, _value(index, scope), scope)
            case ast.Subscript(value=of, slice=index) if _is_known(of, scope) and isinstance(
                arrays := _value(of, scope), Arrays
            ):
                return arrays[Code(self._expr(index, scope))].node
            case ast.Call(func=ast.Name(id="tuple"), args=[ast.GeneratorExp(elt=each, generators=[loop])]):
                items = _value(loop.iter, scope)
                return ast.Tuple([self._expr(each, scope | _bound(loop.target, item)) for item in items])
            case ast.Call():
                return self._call(node, scope)
        return self._rebuilt(node, scope)

    def _test(self, node: ast.expr, scope: dict[str, Any]) -> ast.expr:
        """A condition; a constant if it has a value while code is generated."""
        if _is_known(node, scope):
            return ast.Constant(bool(_value(node, scope)))
        return self._expr(node, scope)

    def _bool_op(self, node: ast.BoolOp, scope: dict[str, Any]) -> ast.expr:
        """`and` and `or`, without the operands that have values."""
        ends = isinstance(node.op, ast.Or)  # the value of an operand that decides the result
        kept: list[ast.expr] = []
        for each in node.values:
            count = len(self._lines)
            found = self._test(each, scope)
            if kept and len(self._lines) > count:
                raise SyntaxError(
                    f"{_text_of(node)}: an operand after the first inlines a function that has statements"
                )
            if not isinstance(found, ast.Constant):
                kept.append(found)
            elif bool(found.value) == ends:
                if not kept:
                    return found
                raise SyntaxError(
                    f"{_text_of(node)}: an operand known while generating stands after others; put it first"
                )
        return ast.Constant(not ends) if not kept else kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)

    def _named(self, prefix: str, index: Any, scope: Mapping[str, Any]) -> ast.expr:
        """A name made of a prefix and an index; if the prefix is a template, the function for that key."""
        template = scope.get(prefix)
        if isinstance(template, Template):
            return ast.Name(self._function(template, index).name)
        return Names()[prefix[:-1], index].node

    def _call(self, node: ast.Call, scope: dict[str, Any], loop: ast.For | None = None) -> ast.expr:
        """A call: inlined, of a generated function, or of another function."""
        template = scope.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if not isinstance(template, Template):
            found = self._rebuilt(node, scope)
            return ast.Call(found.func, _spread(found.args), found.keywords)
        if not _is_inlined(template):
            made = self._function(template)
            args = _spread(self._expr(arg, scope) for arg in node.args) or [ast.Name(name) for name in made.takes]
            return ast.Call(ast.Name(made.name), args, [])
        given = self._given(template, node, scope)
        inner = self._scope(template.file, **given, caller=(loop, scope))
        outside, self._is_optional = self._is_optional, template.decorator == "where_used"
        result = self._block(template.node.body[1:], inner)
        self._is_optional = outside
        return ast.Constant(None) if result is None or result.value is None else result.value

    def _given(self, template: Template, node: ast.Call, scope: dict[str, Any]) -> dict[str, Any]:
        """The value or expression that replaces each parameter of an inlined function."""
        takes, given = template.node.args, [self._argument(arg, scope) for arg in node.args]
        names = [arg.arg for arg in takes.args]
        defaults = [*zip(names[::-1], takes.defaults[::-1], strict=False)]
        defaults += [(arg.arg, each) for arg, each in zip(takes.kwonlyargs, takes.kw_defaults, strict=True) if each]
        found = {name: _value(each, {}) for name, each in defaults} | dict(zip(names, given, strict=False))
        if takes.vararg is not None:
            found[takes.vararg.arg] = tuple(given[len(names) :])
        return found | {word.arg: self._argument(word.value, scope) for word in node.keywords if word.arg is not None}

    def _argument(self, node: ast.expr, scope: dict[str, Any]) -> Any:
        if not _names(node) or _is_known(node, scope):
            return _value(node, scope)
        found = self._expr(node, scope)
        return found.value if isinstance(found, ast.Constant) else Code(found)

    def _rebuilt(self, node: Any, scope: dict[str, Any]) -> Any:
        """A copy of a node with its parts specialized."""

        def part(value: Any) -> Any:
            if isinstance(value, ast.expr):
                return self._expr(value, scope)
            if isinstance(value, list):
                return [part(each) for each in value]
            return self._rebuilt(value, scope) if isinstance(value, ast.keyword) else value

        return ast.copy_location(type(node)(**{name: part(value) for name, value in ast.iter_fields(node)}), node)


def _is_inlined(found: Any) -> bool:
    """Whether this is a template that is inlined."""
    return isinstance(found, Template) and found.decorator in ("", "where_used")


def _spread(args: Iterable[ast.expr]) -> list[ast.expr]:
    """The arguments of a call, with the items of tuples that are known in place of `*`."""
    found: list[ast.expr] = []
    for arg in args:
        is_spread = isinstance(arg, ast.Starred) and isinstance(arg.value, ast.Tuple)
        found += arg.value.elts if is_spread else [arg]  # type: ignore[attr-defined]
    return found


def _names(node: ast.AST) -> frozenset[str]:
    """The names in a node, except the variables of comprehensions; cached in the node."""
    found: frozenset[str] | None = getattr(node, "names_in_it", None)
    if found is None:
        found = frozenset().union(*map(_names, ast.iter_child_nodes(node)))
        if isinstance(node, ast.Name):
            found = frozenset((node.id, PREFIX) if node.id[1:].endswith("_") else (node.id,))
        elif isinstance(node, ast.ListComp | ast.GeneratorExp):
            found = found.difference(*(_names(loop.target) for loop in node.generators))
        node.names_in_it = found  # type: ignore[attr-defined]
    return found


def _text_of(node: ast.AST) -> str:
    """The text of a node; cached in the node, as most of a kernel is the same for all programs."""
    found: str | None = getattr(node, "text_of_it", None)
    if found is None:
        found = node.text_of_it = ast.unparse(node)  # type: ignore[attr-defined]
    return found


def _text(node: ast.AST) -> str:
    """The text of a statement; assigned tuples have no parentheses."""
    if not isinstance(node, ast.Assign):
        return _text_of(node)
    return " = ".join(map(_bare, [*node.targets, node.value]))


def _bare(node: ast.expr) -> str:
    is_tuple = isinstance(node, ast.Tuple) and len(node.elts) > 1
    return ", ".join(map(_text_of, node.elts)) if is_tuple else _text_of(node)  # type: ignore[attr-defined]


@functools.cache
def _cases(node: ast.Match) -> Any:
    """Compiled Python that sets `_case` to the number of the matching case, and the names that its pattern binds."""
    bodies = [ast.parse(f"_case = {number}").body for number in range(len(node.cases))]
    cases = [ast.match_case(case.pattern, case.guard, body) for case, body in zip(node.cases, bodies, strict=True)]
    tree = ast.Module([ast.copy_location(ast.Match(node.subject, cases), node)], [])
    return compile(ast.fix_missing_locations(tree), "<known while generating>", "exec")


def _is_plain(node: ast.AST, scope: Mapping[str, Any]) -> bool:
    """Whether no name in a node has a value while code is generated."""
    return _names(node).isdisjoint(scope)


def _is_known(node: ast.expr, scope: Mapping[str, Any]) -> bool:
    """Whether all names of an expression have values; False for an expression without names."""
    names = _names(node) - BUILTIN
    return bool(names) and all(name in scope and not isinstance(scope[name], Code | Template) for name in names)


def _value(node: Any, scope: dict[str, Any]) -> Any:
    """Evaluate an expression whose names have values. (Compiling it would take a hundred times as long.)"""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return scope[name] if name in scope else getattr(builtins, name)
        case ast.Attribute(value=of, attr=name):
            return getattr(_value(of, scope), name)
        case ast.Call(func=function, args=args, keywords=words):
            given = _value(ast.List(args), scope)
            return _value(function, scope)(*given, **{str(word.arg): _value(word.value, scope) for word in words})
        case ast.Subscript(value=of, slice=index):
            return _value(of, scope)[_value(index, scope)]
        case ast.Tuple(elts=items) | ast.List(elts=items):
            found: list[Any] = []
            for item in items:
                found += _value(item.value, scope) if isinstance(item, ast.Starred) else [_value(item, scope)]
            return tuple(found) if isinstance(node, ast.Tuple) else found
        case ast.ListComp(elt=each, generators=[loop]) | ast.GeneratorExp(elt=each, generators=[loop]):
            return [_value(each, scope | _bound(loop.target, item)) for item in _value(loop.iter, scope)]
        case ast.BoolOp(op=op, values=values):
            decides = any if isinstance(op, ast.Or) else all
            return decides(_value(value, scope) for value in values)
        case ast.IfExp(test=test, body=one, orelse=other):
            return _value(one if _value(test, scope) else other, scope)
        case ast.UnaryOp(op=op, operand=operand):
            return OPERATORS[type(op)](_value(operand, scope))
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            return OPERATORS[type(op)](_value(left, scope), _value(right, scope))
    raise SyntaxError(f"{_text_of(node)}: this kind of expression is not evaluated while generating")


def _bound(target: ast.expr, item: Any) -> dict[str, Any]:
    """The variables of an unrolled loop for an item."""
    if isinstance(target, ast.Name):
        return {target.id: item}
    assert isinstance(target, ast.Tuple)
    return {
        name: value for each, part in zip(target.elts, item, strict=True) for name, value in _bound(each, part).items()
    }


def _lifted(value: Any) -> ast.expr:
    """The expression for a value."""
    if isinstance(value, Code):
        return value.node
    if isinstance(value, np.dtype):
        return ast.Attribute(ast.Name("np"), str(value))
    if isinstance(value, tuple | list):
        return ast.Tuple([_lifted(each) for each in value])
    if value is None or isinstance(value, bool):
        return ast.Constant(value)
    return code(repr(value)).node

"""Writes a specialized template as Python source, so that users can read what is compiled.

Inlined functions are written out, and what is known while compiling is left out. The emitter tells a `Shown` which
expression it has just emitted in place of a node of the syntax tree, and when a statement is complete.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

INDENT = "    "


class Shown:
    """The Python source of a specialized template, which is written line by line while the template is compiled.

    It stays empty if no caller wants to show the source to a user.
    """

    def __init__(self, is_wanted: bool) -> None:
        self.is_wanted, self.lines, self.depth = is_wanted, list[str](), 1
        # the expression to show in place of the expression that is being compiled, or None to show that one itself
        self.instead: ast.expr | None = None
        # for nodes of the syntax tree, by id: the expression to show in place of the node
        self._seen: dict[int, ast.expr] = {}

    def names(self, name: str | tuple[str, ...]) -> None:
        """Show a variable's name, or a tuple of names, in place of the expression that is being compiled."""
        if self.is_wanted:
            self.instead = ast.Name(name) if isinstance(name, str) else ast.Tuple([*map(ast.Name, name)])

    def note(self, node: ast.expr, instead: ast.expr | None = None) -> None:
        """Record that a node of a syntax tree has been compiled, and the expression to show in place of the node.

        By default that is the expression that was set in the attribute `instead`, if any.
        """
        self._seen.pop(id(node), None)
        if instead is not None or self.instead is not None:
            self._seen[id(node)] = instead or self.instead  # type: ignore[assignment]
        self.instead = None

    def of(self, node: Any) -> Any:
        """Return the expression to show in place of a node of a syntax tree, after the node has been compiled."""
        if id(node) in self._seen:
            return self._seen[id(node)]
        if not self.is_wanted or not isinstance(node, ast.AST | list):
            return node
        if isinstance(node, list):
            return [one for child in map(self.of, node) for one in (child.value.elts if _is_spread(child) else [child])]
        return type(node)(**{name: self.of(value) for name, value in ast.iter_fields(node)})

    def put(self, form: str, *nodes: Any) -> None:
        """Add a line to the shown source: the text `form`, in which each `{}` is replaced by the source of a node.

        For example, `form` is "while {}:", and the only one of `nodes` is the syntax tree of the condition.
        """
        if self.is_wanted:
            self.lines.append(INDENT * self.depth + form.format(*(_text_of(self.of(node)) for node in nodes)))

    def assign(self, node: ast.Assign) -> None:
        """Add a line with an assignment statement to the source that users are shown."""
        self.put(" = ".join(["{}"] * (len(node.targets) + 1)), *node.targets, node.value)

    @contextmanager
    def block(self, form: str, *nodes: Any) -> Iterator[None]:
        """Add a line to the shown source that begins a block, such as "while {}:".

        Lines that are added within the `with` statement are indented below it.
        """
        self.put(form, *nodes)
        count, self.depth = len(self.lines), self.depth + 1
        yield
        if len(self.lines) == count:
            self.put("pass")
        self.depth -= 1
        if form == "else:" and self.lines[count:] == [INDENT * (self.depth + 1) + "pass"]:
            del self.lines[count - 1 :]


def constant(value: Any) -> ast.expr | None:
    """Return a syntax tree node for a constant (a number, text, dtype or tuple), to show it in source.

    Return None for functions, types and other objects, which source can't show as constants.
    """
    if isinstance(value, np.dtype):
        return ast.Attribute(ast.Name("np"), str(value))
    if isinstance(value, float | np.generic):
        text = {"inf": "np.inf", "-inf": "-np.inf", "nan": "np.nan"}.get(str(value), str(value))
        kind = np.dtype(type(value))
        return ast.Name(text if kind in (np.dtype(float), np.dtype(bool)) else f"np.{kind}({text})")
    if type(value) in (tuple, list):
        items = [constant(entry) for entry in value]
        return None if None in items else ast.Tuple(items)  # type: ignore[arg-type]
    return ast.Constant(value) if isinstance(value, bool | int | str) else None


def _is_spread(node: Any) -> bool:
    """Return whether a node of a syntax tree is a tuple with a star before it, as in `f(*(a, b))`."""
    return isinstance(node, ast.Starred) and isinstance(node.value, ast.Tuple)


def _text_of(node: Any) -> str:
    """Return the source text of an expression, given by its syntax tree, without the parentheses around a tuple."""
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        return ", ".join(map(ast.unparse, node.elts))
    return node if isinstance(node, str) else ast.unparse(node)

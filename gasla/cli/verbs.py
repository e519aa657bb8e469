"""A command for each algorithm, made from the signature and docstring of a function of gasla.

Each parameter becomes an option of the same name. Its type decides whether the option takes a number, a choice, or is a
flag. `source` and `sources` take vertices by number or name, and `-k` chooses random ones. Parameters of other types,
such as arrays, have no option.
"""

import inspect
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

import gasla
from gasla import verify
from gasla.cli import text
from gasla.cli.data import Named
from gasla.cli.option_values import SPECIAL_OPTIONS, default_source
from gasla.graph.arguments import chosen_sources
from gasla.graph.dates import length
from gasla.rows import Command, rows

Array = NDArray[Any]
NUMBERS: dict[Any, tuple[Callable[[str], Any], str]] = {int: (text.count, "N"), float: (float, "X")}


@dataclass(frozen=True, kw_only=True)
class Verb(Command):
    """A command together with the function of gasla that it calls."""

    function: Callable[..., Any]

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters of the function for which the command may have options."""
        all_parameters = dict(inspect.signature(self.function).parameters)
        return {name: p for name, p in all_parameters.items() if name != "graph" and name not in self.fixed}

    @cached_property
    def help(self) -> str:
        """The first line of the function's docstring, as the command's help text."""
        first = (inspect.getdoc(self.function) or "").partition("\n")[0]
        return _help_style(first).rstrip(".")

    def add_options(self, parser: ArgumentParser) -> None:
        """Add an option for each parameter of the function to the parser of the command."""
        hints, sentences = get_type_hints(self.function), descriptions(self.function)
        if "sources" in self.parameters:
            _add_sources(parser, is_required=self._needs_sources)
        for name, (about, _) in SPECIAL_OPTIONS.items():
            if name in self.parameters:
                vertex_option = {"metavar": "VERTEX", "default": self.defaults.get(name)}
                parser.add_argument(
                    f"--{name}",
                    **{**vertex_option, **about, "help": about["help"].format(**sentences)},
                )
        # parameters without an option here, since the options for reading a graph include them already
        excluded = {"undirected"}
        excluded |= {"sources", "k", "seed"} if "sources" in self.parameters else set()
        for name, parameter in self.parameters.items():
            if name not in excluded and name not in SPECIAL_OPTIONS:
                option = self.options.get(name, f"--{name.replace('_', '-')}")
                default = self.defaults.get(name, parameter.default)
                _add_option(parser, name, option, hints.get(name), default, sentences.get(name, ""))

    @property
    def _needs_sources(self) -> bool:
        return self.parameters["sources"].default is inspect.Parameter.empty

    def call(self, graph: Any, arguments: Mapping[str, Any]) -> Any:
        """Call the function of gasla and return its result. With `-k`, the function draws the random sources itself."""
        if arguments.get("k") is not None:
            arguments = {name: value for name, value in arguments.items() if name != "sources"}
        return getattr(gasla, self.function.__name__)(graph, **arguments)

    def arguments(self, graph: Named, options: Namespace) -> dict[str, Any]:
        """Return the arguments of the function, by name, that the options of the command give."""
        values = {name: getattr(options, name) for name in self.parameters if hasattr(options, name)}
        if "sources" in values:
            if options.sources is not None:
                values["sources"] = [graph.vertex(name) for name in options.sources]
            # The output and the verifier need to know the random sources, so they are drawn here, in the same way as in
            # the function.
            elif options.k is not None:
                values["sources"] = chosen_sources(graph.graph, None, options.k, options.seed)
            elif self._needs_sources:
                values["sources"] = [default_source(graph)]
        converted = {
            name: convert(graph, values[name]) for name, (_, convert) in SPECIAL_OPTIONS.items() if name in values
        }
        return {**values, **converted, **self.fixed}

    def edge_attributes(self, options: Namespace) -> list[str]:
        """Return the names of the edge attributes that the values of the options `--time` and `--duration` are.

        A duration may also be a number or a length of time, which is no attribute.
        """
        values = [getattr(options, name, None) for name in ("time", "duration") if name in self.parameters]
        return [name for name in values if isinstance(name, str) and length(name) is None]

    def columns(self, options: Namespace) -> list[str]:
        """Return the titles of the columns to save.

        Some parts of the answer, such as parents, are computed only if an option asks for them. Their columns are left
        out if the option was not given.
        """
        option_names = self.parameters
        return [
            column for name, column in self.answers.items() if name not in option_names or getattr(options, name, True)
        ]

    def named(self, graph: Any, answer: Any) -> dict[str, Any]:
        """Return the parts of the function's result as a dictionary, such as "levels" and "parents"."""
        if self.unpack is not None:
            return self.unpack(graph, answer)
        return answer._asdict() if isinstance(answer, tuple) else {next(iter(self.answers)): answer}  # type: ignore[attr-defined]

    @cached_property
    def verifier(self) -> Callable[..., None] | None:
        """The function that verifies an answer of this command, or None if there is none."""
        function = getattr(verify, self.checked_by or self.name.replace("-", "_"), None)
        return function and partial(function, **self.checked_with)

    def check(self, graph: Any, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Raise `verify.VerificationError` if the answer is wrong.

        `answer` has the parts of the answer by name. The verifier gets those arguments and parts that it has parameters
        for.
        """
        assert self.verifier is not None
        inputs = {name: value for name, value in arguments.items() if name not in self.answers}
        accepted = inspect.signature(self.verifier).parameters
        self.verifier(graph, **{name: value for name, value in {**inputs, **answer}.items() if name in accepted})

    def saved(self, answer: Mapping[str, Any], graph: gasla.Graph) -> dict[str, Array]:
        """Return the columns to save, which are arrays with one value per vertex, by title."""
        by_column = {column: answer[name] for name, column in self.answers.items() if name in answer}
        return {column: _per_vertex(array, self.shape, graph) for column, array in by_column.items()}


def _per_vertex(array: Array, shape: str, graph: gasla.Graph) -> Array:
    """Return what a file stores about each vertex, computed from `array`, a part of a command's result.

    `shape` says what `array` contains, and so how the result is computed:

    - "vertex": one value per vertex. The result is `array`.
    - "rows": one row of values per vertex. The result is transposed: each of its rows is saved as a column.
    - "edge": one value per edge. The result has for each vertex the sum over its out-edges.
    - "ids": vertex ids, such as those on random walks. The result has for each vertex how often its id occurs.
    """
    if shape == "ids":
        return np.bincount(array.ravel(), minlength=graph.n)
    if shape == "edge":
        dtype = np.float64 if array.dtype.kind == "f" else np.int64
        return np.bincount(graph.edges()[0], array, graph.n).astype(dtype)
    return array.T if shape == "rows" else array


def descriptions(function: Callable[..., Any]) -> dict[str, str]:
    """Return the first sentence about each parameter of a function, from its numpydoc docstring.

    Where the docstring refers to another function for a parameter, the sentence is that function's.

    Examples
    --------
    >>> descriptions(gasla.bfs)["depth_limit"]
    'maximum distance to search to'
    """
    section = re.search(r"\nParameters\n-+\n(.*?)(\n\n|\Z)", inspect.getdoc(function) or "", re.DOTALL)
    entries = re.findall(r"^(\w[\w, ]*)(?: : .*)?\n((?:    .*\n?)+)", section[1] if section else "", re.MULTILINE)
    sentences: dict[str, str] = {}
    for names, paragraph in entries:
        other = re.match(r"\s*As (?:in|for) `(?:gasla\.)?(\w+)`", paragraph)
        other_descriptions = descriptions(getattr(gasla, other[1])) if other else {}
        sentences |= {
            name: other_descriptions.get(name, _help_style(re.split(r"[.;:](?:\s|$)", paragraph)[0]))
            for name in names.split(", ")
        }
    return sentences


def _help_style(sentence: str) -> str:
    """Return a sentence of a docstring in the style of help texts: without backticks, and with a small first letter."""
    words = " ".join(sentence.split()).replace("`", "")
    first = words.partition(" ")[0]
    return words[:1].lower() + words[1:] if first == first.capitalize() else words


def _add_option(parser: ArgumentParser, name: str, option: str, hint: Any, default: Any, help_text: str) -> None:
    """Add the option for one parameter to a parser, if the parameter's type allows an option.

    The option of a parameter whose name is one letter can be given with one hyphen or with two.
    """
    options = [f"-{name}"] * (len(name) == 1) + [option]
    help_text = help_text.replace("%", "%%")
    kinds = [hint] if get_origin(hint) is Literal else [k for k in get_args(hint) or (hint,) if k is not NoneType]
    kinds = [k for k in kinds if get_origin(k) not in (Sequence, Mapping)]
    kind = kinds[0] if len(kinds) == 1 else None
    help = f"{help_text} (default: {default})" if default not in (None, inspect.Parameter.empty) else help_text
    if kind is bool:
        if default is True:
            off = option if option != f"--{name.replace('_', '-')}" else f"--no-{option[2:]}"
            parser.add_argument(off, dest=name, action="store_false", help=f"disable: {help_text}")
        else:
            parser.add_argument(option, dest=name, action="store_true", help=help_text)
    elif get_origin(kind) is Literal:
        parser.add_argument(*options, dest=name, choices=get_args(kind), default=default, help=help)
    elif kind in NUMBERS:
        read, metavar = NUMBERS[kind]
        parser.add_argument(*options, dest=name, type=read, metavar=metavar, default=default, help=help)


def _add_sources(parser: ArgumentParser, is_required: bool) -> None:
    default = "the vertex of largest out-degree" if is_required else "all"
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--sources", nargs="+", metavar="VERTEX", help=f"source vertices (default: {default})")
    group.add_argument("-k", "--k", type=int, metavar="N", help="use N random source vertices")
    parser.add_argument("--seed", type=text.count, default=0, metavar="N", help="seed for -k (default: 0)")


ALGORITHMS = tuple(Verb(**vars(command), function=row.function) for row in rows() for command in row.commands)

"""A verb of the command line, made of a function's signature and docstring: what it takes, calls, checks and saves.

A parameter is an option of the same name, as its type says: a number, one of some words, or a yes that is given or not.
`source` and `sources` take vertices by number or name, and `-k` draws some by lot. Parameters of other types, such as
arrays, are no options.
"""

import inspect
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

import gasla
from gasla import verify
from gasla.cli import text
from gasla.cli.data import Named
from gasla.graph.arguments import chosen_sources

Array = NDArray[Any]
TRIANGLE = "0-1,1-2,0-2"
DEGREES = "the numbers of its in-edges and out-edges"
NUMBERS: dict[Any, tuple[Callable[[str], Any], str]] = {int: (text.count, "N"), float: (float, "X")}


@dataclass(frozen=True)
class Answered:
    """A question and its answer; `found["levels"]` is the part of the answer of that name."""

    named: Named
    arguments: Mapping[str, Any]  # of the function
    answer: Mapping[str, Any]  # what it returned, by name
    top: int  # how long rankings are to be

    def __getitem__(self, name: str) -> Any:
        return self.answer[name]

    @property
    def graph(self) -> gasla.Graph:
        """The graph, on the host."""
        return self.named.graph

    def label(self, vertex: int) -> str:
        """How a person would call a vertex."""
        return self.named.label(vertex)

    def end(self, name: str) -> str:
        """How a person would call the vertex that is an argument."""
        return self.label(self.arguments[name])


View = Callable[[Answered], Iterable[str]]


@dataclass(frozen=True)
class Verb:
    """What the command line has to know of one algorithm.

    `shape` says what a value of the answer belongs to, and so what a file holds, which has a value for each vertex:
    that of the "vertex" itself; columns, if the answer has "rows", one a vertex; if each "edge" has a value, their sums
    over the vertex's out-edges; if the answer consists of "ids" of vertices, how often the vertex is among them.
    """

    name: str
    function: Callable[..., Any]  # of gasla
    answers: Mapping[str, str]  # what is saved: its name in the answer, and the file's name for it; of a number nothing
    heading: Callable[[Answered], str]  # the first line that is printed
    view: View = lambda _: ()  # the others
    shape: Literal["vertex", "rows", "edge", "ids"] = "vertex"
    checked_by: Callable[..., None] | None = None  # by default that of gasla.verify of the verb's name, if there is one
    options: Mapping[str, str] = field(default_factory=dict)  # parameters whose options are called otherwise
    defaults: Mapping[str, Any] = field(default_factory=dict)  # of options whose parameters have none
    fixed: Mapping[str, Any] = field(default_factory=dict)  # arguments that are no options
    edges: Callable[[Answered], int] | None = None  # how many count as traversed; by default `views.traversed`
    iterations: Callable[[Answered], int | None] = lambda f: f.answer.get("iterations")
    unpack: Callable[[Any, Any], dict[str, Any]] | None = None  # the parts of a graph's answer, by name

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Those that may be options."""
        everything = dict(inspect.signature(self.function).parameters)
        return {name: p for name, p in everything.items() if name != "graph" and name not in self.fixed}

    @cached_property
    def help(self) -> str:
        """The first line of the docstring."""
        first = (inspect.getdoc(self.function) or "").partition("\n")[0]
        return _plain(first).rstrip(".")

    def add_options(self, parser: ArgumentParser) -> None:
        """Options of this algorithm alone."""
        hints, said = get_type_hints(self.function), descriptions(self.function)
        if "sources" in self.parameters:
            _add_sources(parser, is_required=self._needs_sources)
        for name, (about, _) in READ.items():
            if name in self.parameters:
                parser.add_argument(f"--{name}", **{"metavar": "VERTEX", **about, "help": about["help"].format(**said)})
        others = {"sources", "k", "seed"} if "sources" in self.parameters else set()
        for name, parameter in self.parameters.items():
            if name not in others and name not in READ:
                option = self.options.get(name, f"--{name.replace('_', '-')}")
                default = self.defaults.get(name, parameter.default)
                _add(parser, name, option, hints.get(name), default, said.get(name, ""))

    @property
    def _needs_sources(self) -> bool:
        return self.parameters["sources"].default is inspect.Parameter.empty

    def call(self, graph: Any, arguments: Mapping[str, Any]) -> Any:
        """What the function, as gasla has it now, returns. Sources that it is to draw by itself aren't given to it."""
        if arguments.get("k") is not None:
            arguments = {name: value for name, value in arguments.items() if name != "sources"}
        return getattr(gasla, self.function.__name__)(graph, **arguments)

    def arguments(self, graph: Named, options: Namespace) -> dict[str, Any]:
        """What the options ask the function for."""
        given = {name: getattr(options, name) for name in self.parameters if hasattr(options, name)}
        if "sources" in given:
            if options.sources is not None:
                given["sources"] = [graph.vertex(name) for name in options.sources]
            elif options.k is not None:  # which of them, is for summary and verifier to know
                given["sources"] = chosen_sources(graph.graph, None, options.k, options.seed)
            elif self._needs_sources:
                given["sources"] = [_source(graph, None)]
        read = {name: how(graph, given[name]) for name, (_, how) in READ.items() if name in given}
        return {**given, **read, **self.fixed}

    def columns(self, options: Namespace) -> list[str]:
        """What will be saved of the answer; what is asked for by an option of its own, only then."""
        asked = self.parameters
        return [column for name, column in self.answers.items() if name not in asked or getattr(options, name, True)]

    def named(self, graph: Any, answer: Any) -> dict[str, Any]:
        """What the function returned, by name."""
        if self.unpack is not None:
            return self.unpack(graph, answer)
        return answer._asdict() if isinstance(answer, tuple) else {next(iter(self.answers)): answer}  # type: ignore[attr-defined]

    @cached_property
    def verifier(self) -> Callable[..., None] | None:
        """What checks an answer, if there is such a function; it is given whatever it has a parameter for."""
        return self.checked_by or getattr(verify, self.name.replace("-", "_"), None)

    def check(self, graph: Any, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Raise `verify.VerificationError` if the answer is wrong."""
        assert self.verifier is not None
        asked = {name: value for name, value in arguments.items() if name not in self.answers}
        wanted = inspect.signature(self.verifier).parameters
        self.verifier(graph, **{name: value for name, value in {**asked, **answer}.items() if name in wanted})

    def saved(self, answer: Mapping[str, Any], graph: gasla.Graph) -> dict[str, Array]:
        """The arrays to save, of a value for each vertex, by their names in the file."""
        found = {column: answer[name] for name, column in self.answers.items() if name in answer}
        return {column: _per_vertex(array, self.shape, graph) for column, array in found.items()}


def _per_vertex(array: Array, shape: str, graph: gasla.Graph) -> Array:
    """An array of a value for each vertex, see `Verb`."""
    if shape == "ids":
        return np.bincount(array.ravel(), minlength=graph.n)
    if shape == "edge":
        kind = np.float64 if array.dtype.kind == "f" else np.int64
        return np.bincount(graph.edges()[0], array, graph.n).astype(kind)
    return array.T if shape == "rows" else array


def descriptions(function: Callable[..., Any]) -> dict[str, str]:
    """The first sentence on each parameter of a docstring in NumPy's style.

    Examples
    --------
    >>> descriptions(gasla.bfs)["depth_limit"]
    'go no further than this many edges'
    """
    section = re.search(r"\nParameters\n-+\n(.*?)(\n\n|\Z)", inspect.getdoc(function) or "", re.DOTALL)
    found = re.findall(r"^(\w[\w, ]*) : .*\n((?:    .*\n?)+)", section[1] if section else "", re.MULTILINE)
    return {name: _plain(re.split(r"[.;:](?:\s|$)", about)[0]) for names, about in found for name in names.split(", ")}


def _plain(sentence: str) -> str:
    """A docstring's words as help has them."""
    words = " ".join(sentence.split()).replace("`", "")
    first = words.partition(" ")[0]
    return words[:1].lower() + words[1:] if first == first.capitalize() else words


def _add(parser: ArgumentParser, name: str, option: str, hint: Any, default: Any, said: str) -> None:
    """The option of one parameter, if its type can be one."""
    said = said.replace("%", "%%")
    kinds = [hint] if get_origin(hint) is Literal else [k for k in get_args(hint) or (hint,) if k is not NoneType]
    kind = kinds[0] if len(kinds) == 1 else None
    help = f"{said} (default: {default})" if default not in (None, inspect.Parameter.empty) else said
    if kind is bool:
        if default is True:
            off = option if option != f"--{name.replace('_', '-')}" else f"--no-{option[2:]}"
            parser.add_argument(off, dest=name, action="store_false", help=f"switch off: {said}")
        else:
            parser.add_argument(option, dest=name, action="store_true", help=said)
    elif get_origin(kind) is Literal:
        parser.add_argument(option, dest=name, choices=get_args(kind), default=default, help=help)
    elif kind in NUMBERS:
        read, metavar = NUMBERS[kind]
        parser.add_argument(option, dest=name, type=read, metavar=metavar, default=default, help=help)


def _add_sources(parser: ArgumentParser, is_required: bool) -> None:
    default = "the vertex of most out-edges" if is_required else "all"
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--sources", nargs="+", metavar="VERTEX", help=f"start from these (default: {default})")
    some.add_argument("-k", type=int, metavar="N", help="start from so many, drawn by lot")
    parser.add_argument("--seed", type=text.count, default=0, metavar="N", help="seed of the lot (default: 0)")


def _source(graph: Named, name: str | None) -> int:
    """The vertex of this name; where there is none, that of most out-edges."""
    if name is not None:
        return graph.vertex(name)
    if not graph.graph.n:
        raise ValueError("a graph without vertices has no source")
    return int(np.argmax(graph.graph.out_degrees))


def _features(graph: Named, path: str | None) -> Array:
    """A row of numbers a vertex, from a file; where there is none, its degrees."""
    if path is None:
        return np.stack([graph.graph.in_degrees, graph.graph.out_degrees], axis=1).astype(np.float64)
    try:
        return np.load(path) if path.endswith(".npy") else np.loadtxt(path, ndmin=2)
    except ValueError as error:
        raise ValueError(f"--features {path}: {error}; expected numbers, a row for each vertex") from None


def _pattern(edges: str) -> Array:
    """The matrix of a pattern whose edges are given as in 0-1,1-2."""
    if re.fullmatch(r"\d{1,3}-\d{1,3}(,\d{1,3}-\d{1,3})*", edges) is None:
        raise ValueError(f"--pattern {edges}: expected edges between vertices from 0 on, such as {TRIANGLE}")
    pairs = np.array([edge.split("-") for edge in edges.split(",")], np.int64)
    matrix = np.zeros((pairs.max() + 1,) * 2, bool)
    matrix[pairs[:, 0], pairs[:, 1]] = matrix[pairs[:, 1], pairs[:, 0]] = True
    return matrix


def _each(graph: Named, names: list[str] | None) -> Array:
    """The vertices of these names; where there are none, all."""
    return np.arange(graph.graph.n) if names is None else np.array([*map(graph.vertex, names)])


# Parameters whose options are neither numbers nor words: how the option is declared, and how it is read.
READ: dict[str, tuple[dict[str, Any], Callable[[Named, Any], Any]]] = {
    "source": ({"help": "where to start (default: the vertex of most out-edges)"}, _source),
    "features": (
        {"metavar": "FILE", "help": f"a row a vertex, in .npy or as text (default: {DEGREES})"},
        _features,
    ),
    "pattern": (
        {"metavar": "EDGES", "default": TRIANGLE, "help": "its edges, as in 0-1,1-2 (default: %(default)s)"},
        lambda _, edges: _pattern(edges),
    ),
    "starts": ({"nargs": "+", "help": "{starts} (default: each once)"}, _each),
    "ids": ({"nargs": "+", "help": "{ids} (default: each once)"}, _each),
    "target": (
        {"help": "where to end (default: the last vertex)"},
        lambda graph, name: graph.graph.n - 1 if name is None else graph.vertex(name),
    ),
}

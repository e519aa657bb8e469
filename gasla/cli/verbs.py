"""A verb of the command line, made of a function's signature and docstring: what it takes, calls, checks and saves.

A parameter is an option of the same name, as its type says: a number, one of some words, or a yes that is given or not.
`source` and `sources` take vertices by number or name, and `-k` draws some by lot. Parameters of other types, such as
arrays, are no options.
"""

import inspect
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import NoneType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

import gasla
from gasla.cli import text
from gasla.cli.data import Named
from gasla.graph.arguments import chosen_sources

Array = NDArray[Any]
EACH = {"starts", "ids"}  # parameters that take vertices, of any number
TRIANGLE = "0-1,1-2,0-2"
NUMBERS: dict[Any, tuple[Callable[[str], Any], str]] = {int: (text.count, "N"), float: (float, "X")}


class Answered(NamedTuple):
    """A question and its answer."""

    graph: Named
    arguments: Mapping[str, Any]  # of the function
    answer: Mapping[str, Any]  # what it returned, by name
    top: int  # how long rankings are to be


def all_edges(answered: Answered) -> int:
    """How many edges count as traversed: those of the graph."""
    return int(answered.graph.graph.m)


@dataclass(frozen=True)
class Verb:
    """What the command line has to know of one algorithm."""

    name: str
    function: Callable[..., Any]  # of gasla
    verifier: Callable[..., None] | None  # of gasla.verify, if there is one; given whatever it has a parameter for
    answers: Mapping[str, str]  # what is saved: its name in the answer, and the file's name for it; of a number nothing
    summary: Callable[[Answered], Iterator[str]]  # what a person wants to know
    options: Mapping[str, str] = field(default_factory=dict)  # parameters whose options are called otherwise
    defaults: Mapping[str, Any] = field(default_factory=dict)  # of options whose parameters have none
    fixed: Mapping[str, Any] = field(default_factory=dict)  # arguments that are no options
    edges: Callable[[Answered], int] = all_edges
    iterations: Callable[[Answered], int] | None = None
    by_vertex: bool = False  # whether answers have a row a vertex: files have one a feature
    unpack: Callable[[Any, Any], dict[str, Any]] | None = None  # by name what a graph's answer tells of its vertices
    by_edge: bool = False  # whether answers have a value an edge: files have their sums over each vertex's out-edges
    names_vertices: bool = False  # whether answers are ids: files count how often each vertex is named

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
        if "source" in self.parameters:
            default = "default: the vertex of most out-edges"
            parser.add_argument("--source", metavar="VERTEX", help=f"where to start ({default})")
        elif "sources" in self.parameters:
            _add_sources(parser, is_required=self._needs_sources)
        elif "features" in self.parameters:
            default = "default: the numbers of its in-edges and out-edges"
            parser.add_argument("--features", metavar="FILE", help=f"a row a vertex, in .npy or as text ({default})")
        elif "pattern" in self.parameters:
            parser.add_argument(
                "--pattern", metavar="EDGES", default=TRIANGLE, help="its edges, as in 0-1,1-2 (default: %(default)s)"
            )
        for name in EACH & set(self.parameters):
            parser.add_argument(f"--{name}", nargs="+", metavar="VERTEX", help=f"{said[name]} (default: each once)")
        if "target" in self.parameters:
            parser.add_argument("--target", metavar="VERTEX", help="where to end (default: the last vertex)")
        others = {"source", "target", "sources", "features", "pattern", *EACH}
        others |= {"k", "seed"} if "sources" in self.parameters else set()
        for name, parameter in self.parameters.items():
            if name not in others:
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
        if "source" in given:
            given["source"] = _source(graph, options.source)
            if "target" in given:
                given["target"] = graph.graph.n - 1 if options.target is None else graph.vertex(options.target)
        elif "sources" in given:
            if options.sources is not None:
                given["sources"] = [graph.vertex(name) for name in options.sources]
            elif options.k is not None:  # which of them, is for summary and verifier to know
                given["sources"] = chosen_sources(graph.graph, None, options.k, options.seed)
            elif self._needs_sources:
                given["sources"] = [_source(graph, None)]
        for name in EACH & set(given):
            names = given[name]
            given[name] = np.arange(graph.graph.n) if names is None else np.array([*map(graph.vertex, names)])
        if "features" in given:
            given["features"] = _features(graph, options.features)
        elif "pattern" in given:
            given["pattern"] = _pattern(options.pattern)
        return {**given, **self.fixed}

    def columns(self, options: Namespace) -> list[str]:
        """What will be saved of the answer; what is asked for by an option of its own, only then."""
        asked = self.parameters
        return [column for name, column in self.answers.items() if name not in asked or getattr(options, name, True)]

    def named(self, graph: Any, answer: Any) -> dict[str, Any]:
        """What the function returned, by name."""
        if self.unpack is not None:
            return self.unpack(graph, answer)
        return answer._asdict() if isinstance(answer, tuple) else {next(iter(self.answers)): answer}  # type: ignore[attr-defined]

    def check(self, graph: Any, arguments: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Raise `verify.VerificationError` if the answer is wrong."""
        assert self.verifier is not None
        asked = {name: value for name, value in arguments.items() if name not in self.answers}
        wanted = inspect.signature(self.verifier).parameters
        self.verifier(graph, **{name: value for name, value in {**asked, **answer}.items() if name in wanted})

    def saved(self, answer: Mapping[str, Any], graph: gasla.Graph) -> dict[str, Array]:
        """The arrays to save, of a value for each vertex, by their names in the file."""
        found = {column: answer[name] for name, column in self.answers.items() if name in answer}
        if self.names_vertices:
            return {column: np.bincount(array.ravel(), minlength=graph.n) for column, array in found.items()}
        if self.by_edge:
            numbers, owners = graph.out.numbers(), graph.out.owners()
            sums = {column: np.bincount(owners, array[numbers], graph.n) for column, array in found.items()}
            kinds = {column: np.float64 if array.dtype.kind == "f" else np.int64 for column, array in found.items()}
            return {column: array.astype(kinds[column]) for column, array in sums.items()}
        return {column: array.T for column, array in found.items()} if self.by_vertex else found


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
    kinds = [kind for kind in (get_args(hint) or (hint,)) if kind is not NoneType]
    if get_origin(hint) is Literal:
        kinds = [hint]
    kind = kinds[0] if len(kinds) == 1 else None
    text = f"{said} (default: {default})" if default not in (None, inspect.Parameter.empty) else said
    help = text.replace("%", "%%")
    if kind is bool:
        off = option if option != f"--{name.replace('_', '-')}" else f"--no-{option[2:]}"
        said = said.replace("%", "%%")
        if default is True:
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

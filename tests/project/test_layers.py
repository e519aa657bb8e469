"""Where every line of the library lives, and which way imports point: lazy ones and those for types alone count too."""

import ast
import importlib
import re
from collections import Counter
from functools import cache

import pytest

from tests.helpers import ROOT

FILES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for package in ("gasla", "semirings")
    for path in sorted((ROOT / package).rglob("*.py"))
}

# Layers from the top to the ground. A file imports from its own layer and from layers below.
LAYERS = [
    "gasla.__main__",
    "gasla.cli",
    "gasla.bench",
    "gasla.demo gasla.shipping gasla.gpu.shipping",
    "gasla.csgraph gasla.backends",
    "gasla.verify",
    "gasla.algorithms",
    "gasla.operations gasla.primitives gasla.stages",
    "gasla.distributed",
    "gasla.cpu gasla.gpu gasla.reference",
    "gasla.engines",
    "gasla.program",
    "gasla.graph gasla.datasets gasla.generators gasla.io",
    "gasla.cpu.runtime gasla.gpu.runtime",
    "gasla.compiler",
    "gasla gasla.apart gasla.arrays gasla.cache gasla.cgroups gasla.deprecation gasla.host_memory gasla.log "
    "gasla.names gasla.once gasla.output gasla.progress gasla.rows",
    "semirings",
]
LEVELS = {layer: -number for number, names in enumerate(LAYERS) for layer in names.split()}
DOORS = ["gasla.csgraph", "gasla.backends"]
NEVER = {  # beyond that: what may not know what
    ("gasla.cpu", "gasla.gpu"),
    ("gasla.gpu", "gasla.cpu"),
    ("gasla.cpu.runtime", "gasla.gpu.runtime"),
    *((door, layer) for door in DOORS for layer in ["gasla.operations", "gasla.program", "gasla.engines"]),
    ("gasla.algorithms", "gasla.cpu"),
    ("gasla.algorithms", "gasla.gpu"),
    ("gasla.algorithms", "gasla.engines"),
    ("gasla.reference", "gasla.cpu"),
    ("gasla.reference", "gasla.gpu"),
    ("gasla.cpu", "gasla.reference"),
    ("gasla.gpu", "gasla.reference"),
    ("gasla.operations", "gasla.reference"),
    ("gasla.operations", "gasla.cpu"),
    ("gasla.operations", "gasla.gpu"),
}


def layer_of(module: str) -> str:
    """The layer that a file is in: the longest that its name begins with."""
    return max((layer for layer in LEVELS if f"{module}.".startswith(f"{layer}.")), key=len)


@cache
def nodes(module: str) -> list[ast.Import | ast.ImportFrom | ast.Attribute]:
    """The imports in a file, wherever in its text, and its attributes."""
    tree = ast.parse(FILES[module].read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom | ast.Attribute)]


@cache
def imports(module: str) -> set[str]:
    """The files that a file imports."""
    found = set()
    for node in nodes(module):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: imports are absolute here"
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in FILES else str(node.module) for name in whole}
    return {name for name in found if name in FILES} - {module}


def circles() -> list[list[str]]:
    """Files that import each other, by way of others or not (Tarjan)."""
    numbers: dict[str, int] = {}
    lows: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(module: str) -> None:
        numbers[module] = lows[module] = len(numbers)
        stack.append(module)
        for other in imports(module):
            if other not in numbers:
                visit(other)
                lows[module] = min(lows[module], lows[other])
            elif other in stack:
                lows[module] = min(lows[module], numbers[other])
        if lows[module] == numbers[module]:
            circle = [stack.pop()]
            while circle[-1] != module:
                circle.append(stack.pop())
            if len(circle) > 1:
                found.append(sorted(circle))

    for module in FILES:
        if module not in numbers:
            visit(module)
    return found


def test_no_circles() -> None:
    assert circles() == []


def problem(module: str, other: str) -> str | None:
    """What is wrong with an import, if anything."""
    layer, there = layer_of(module), layer_of(other)
    if other == "gasla":  # its public names lead to any layer up to that of algorithms; the rows only list them
        is_above = LEVELS[layer] > LEVELS["gasla.algorithms"] or layer == "gasla.rows"
        return None if is_above else f"{module} imports gasla, whose names may be above it"
    if LEVELS[there] > LEVELS[layer]:
        return f"{module} imports {other}, which is above it"
    return f"{module} imports {other}" if (layer, there) in NEVER else None


def test_imports_point_down() -> None:
    found = (problem(module, other) for module in FILES for other in sorted(imports(module)))
    assert [why for why in found if why is not None] == []


@pytest.mark.parametrize(
    ("module", "other", "is_wrong"),
    [
        ("gasla.graph.transform.merging", "gasla", True),
        ("gasla.graph.graph", "gasla.operations.run", True),
        ("gasla.operations.multiply", "gasla", True),
        ("gasla.algorithms.traversal.bfs", "gasla.engines", True),
        ("gasla.graph.streamed", "gasla.gpu.product.products", True),
        ("gasla.cli.views", "gasla", False),
        ("gasla.program.plan", "gasla.graph.graph", False),
    ],
)
def test_imports_that_point_up_are_found(module: str, other: str, is_wrong: bool) -> None:
    assert {module, other} <= FILES.keys() and (problem(module, other) is not None) == is_wrong


def test_the_library_works_without_the_benchmarks() -> None:
    """`gasla bench` is part of an installed wheel, which `benchmarks/` is not."""
    for module in FILES:
        for node in nodes(module):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.startswith("benchmarks") for name in names), f"{module} imports {names}"


def test_engines_are_named_in_one_file() -> None:
    """By string, after the device; anybody else asks `gasla.engines`."""
    for module, path in FILES.items():
        text = path.read_text(encoding="utf-8")
        layer = layer_of(module)
        if layer not in (
            "gasla.cpu",
            "gasla.gpu",
            "gasla.gpu.shipping",
            "gasla.shipping",
            "gasla.bench",
            "gasla.cli",
            "gasla.cpu.runtime",
            "gasla.gpu.runtime",
        ):
            named = {name for name in imports(module) if name.split(".")[:2] in (["gasla", "cpu"], ["gasla", "gpu"])}
            ground = {name for name in named if ".runtime" in name}
            assert named == (ground if layer == "gasla.graph" else set()), f"{module} imports {named}"
        may_ask = "gasla.cpu", "gasla.gpu", "gasla.gpu.shipping", "gasla.graph", "gasla.bench"
        if layer not in may_ask and module != "gasla.arrays":
            assert not re.search(r"device (==|!=|is|in) \W?[\"']", text), f"{module} asks which device it is"


def test_names_of_files_tell_them_apart() -> None:
    """Only the same idea in programs and in engines has one name, and a public module that of what it stands for."""
    names = Counter(
        path.name
        for module, path in FILES.items()
        if path.name[:2] != "__"
        and not module.startswith(("gasla.gpu.", "gasla.cpu.kernels."))
        and "import *" not in path.read_text(encoding="utf-8")
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_no_engine_file_is_named_after_an_algorithm() -> None:
    files = [module for module, path in FILES.items() if path.name != "__init__.py"]  # folders are families, and layers
    algorithms = {module.rsplit(".", 1)[1] for module in files if module.startswith("gasla.algorithms.")}
    engines = {module.rsplit(".", 1)[1] for module in files if module.startswith(("gasla.cpu.", "gasla.gpu."))}
    assert not algorithms & engines


def test_llvm_and_pythons_own_functions_stand_in_one_file_each() -> None:
    """Llvmlite's documented functions, and those of CPython's stable ABI."""
    places = {
        "import llvmlite": ("gasla.compiler", "gasla.cli"),
        "ctypes.pythonapi": ("gasla.cpu.runtime.intrinsics", "gasla.compiler.function"),
        "__basicsize__": (),
    }
    for module in FILES:
        code = re.sub(r'^""".*?"""', "", FILES[module].read_text(encoding="utf-8"), flags=re.DOTALL)
        for name, allowed in places.items():
            assert name not in code or module.startswith(allowed), f"{module} uses {name}"
        assert not re.search(r"^ *(import|from) numba\b", code, re.MULTILINE), f"{module} imports Numba"


def test_private_attributes_of_a_graph_are_its_own() -> None:
    """What others need of a graph is public; only a class of graphs reads `self._…` of its base."""
    from gasla import Graph

    graph = Graph.from_edges([0, 1], [1, 2], [5, 3])
    private = {name for name in (*vars(Graph), *vars(graph), "_ends", "_rows", "_columns") if re.match("_[a-z]", name)}
    for module in FILES:
        if layer_of(module) != "gasla.graph":
            for node in nodes(module):
                if isinstance(node, ast.Attribute) and node.attr in private:
                    owner = ast.unparse(node.value)
                    assert owner in ("self", "cls") or "graph" not in owner.lower(), f"{module}: {owner}.{node.attr}"


def test_chains_of_base_classes_of_graphs_are_short() -> None:
    for module in FILES:
        if layer_of(module) == "gasla.graph":
            for name, kind in vars(importlib.import_module(module)).items():
                if isinstance(kind, type) and kind.__module__ == module and not issubclass(kind, BaseException | tuple):
                    assert len(kind.__mro__) <= 3 + 1, f"{module}.{name}: {kind.__mro__}"  # object aside

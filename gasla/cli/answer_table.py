"""The command `gasla table`, which saves the answers of several algorithms as one table with a row per vertex."""

from argparse import ArgumentParser, Namespace
from typing import Any

from gasla.cli import compute, data
from gasla.cli.verbs import ALGORITHMS, Verb
from gasla.graph.exchange import vertex_table
from gasla.names import meant
from gasla.progress import bar

# titles of columns that hold vertex ids; if vertices have names, the table has their names in place of ids
OF_VERTICES = {"parent", "mate", "similar"}
TABLE_VERBS = {verb.name: verb for verb in ALGORITHMS if verb.answers}


def add_commands(commands: Any) -> None:
    """Add the command `table` to the parser of the command line."""
    help_text = "save the answers of several algorithms as one table, with a row per vertex and its name"
    parser = commands.add_parser("table", help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.")
    data.add_reading(parser)
    algorithms = "commands whose answers have a value per vertex, such as pagerank, core-number and louvain-communities"
    parser.add_argument("algorithms", nargs="+", metavar="ALGORITHM", help=f"{algorithms}; a beginning will do")
    parser.add_argument("--output", "-o", metavar="FILE", required=True, help="the file: .csv, .parquet or .feather")
    compute.add_device(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Run the algorithms with the default options of their commands, and write the table. Return the exit code."""
    verbs = [chosen(name) for name in options.algorithms]
    for place, verb in enumerate(verbs):
        if verb in verbs[:place]:
            raise ValueError(f"{verb.name} was given twice; expected each algorithm once")
    try:
        target = vertex_table.check_file(options.output)
    except ValueError as error:
        raise ValueError(f"--{error}") from None
    data.check_target(target)
    compute.use_device(options.device, options.threads)
    with bar(f"reading {options.graph}"):
        named = data.load(options)
    columns: dict[str, Any] = {} if named.graph.names is not None else data.called(named)
    for verb in verbs:
        with bar(f"computing {verb.name}"):
            columns |= columns_of(verb, named, options.device)
    by_title = vertex_table.columns_of(named.graph.n, named.graph.names, (), columns)
    table = vertex_table.in_zone(by_title, named.graph)
    with bar(f"writing {target}"):
        vertex_table.write(target, table)
    print(f"wrote {target}: {named.graph.n:,} vertices, with the columns {', '.join(table)}")
    return 0


def chosen(name: str) -> Verb:
    """Return the command with this name, or the only command whose name begins with it. Raise ValueError if there is
    none.
    """
    matches = [known for known in TABLE_VERBS if known == name] or [
        known for known in TABLE_VERBS if known.startswith(name)
    ]
    if len(matches) == 1:
        return TABLE_VERBS[matches[0]]
    if matches:
        raise ValueError(f"{name!r} may be {' or '.join(matches)}; expected the name of one algorithm")
    hint = meant(name, TABLE_VERBS) or f"; expected some of {', '.join(TABLE_VERBS)}"
    raise ValueError(f"no algorithm with a value per vertex is named {name!r}{hint}")


def columns_of(verb: Verb, named: data.Named, device: Any) -> dict[str, Any]:
    """Run one algorithm, and return the columns of its answer, with titles that begin with the algorithm's name."""
    parser = ArgumentParser()
    verb.add_options(parser)
    arguments = verb.arguments(named, parser.parse_args([]))
    answer = compute.on_host(verb.call(named.graph.to(device), arguments))
    saved = verb.saved(verb.named(named.graph, answer), named.graph)
    name = verb.name.replace("-", "_")
    by_title: dict[str, Any] = {}
    for title, array in saved.items():
        single = name if len(saved) == 1 else f"{name}_{title}"
        values = named.graph.name(array) if title in OF_VERTICES else array
        by_title |= dict(data.single_columns(single, values))
    return by_title

"""The command line of gasla, run by `gasla` or `python -m gasla`.

The exit code is 0 for success, 1 if `--check` found a wrong answer, and 2 for an invalid argument or an unreadable
file, which is reported in one line on standard error.
"""

import functools
import os
import re
import sys
import warnings
from collections.abc import Sequence
from itertools import takewhile

from gasla import __version__
from gasla.cli import answer_table, bench, compute, link_tables, made_graphs, picture, tools
from gasla.cli.parser import Parser
from gasla.graph.memory_limit import available
from gasla.verify import VerificationError

WRONG_ANSWER, BAD_INPUT, INTERRUPTED = 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    Examples
    --------
    >>> main(["info", "no-such-file.mtx"])
    2
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    for word in takewhile(lambda word: word != "--", arguments):
        # argparse would take the value -- of an option as the end of all options, and the option's value as an empty
        # list
        if option := re.fullmatch("(--[^=]+)=--|(-[a-z])--", word):
            _print_error(f"argument {option[1] or option[2]}: the value is '--'; expected a value")
            return BAD_INPUT
    options = parser().parse_args(arguments)
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _print_error(
            f"warning: {options.parser.in_options(str(message))}"
        )
        # show every warning of this category, such as that an iteration did not converge, or that rows of a file were
        # skipped
        warnings.simplefilter("always", UserWarning)
        try:
            return int(options.run(options))
        except BrokenPipeError as error:
            # a pipe that is an output file was closed, and not standard output, whose errors have no file name
            if error.filename is not None:
                _print_error(_one_line(error))
                return BAD_INPUT
            # A program that reads the output, such as `head`, has closed the pipe. Python would write to the pipe again
            # when it exits, and report an error. So standard output is redirected.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        except KeyboardInterrupt:
            return INTERRUPTED
        except VerificationError as error:
            _print_error(f"the answer is wrong: {error}")
            return WRONG_ANSWER
        except (ValueError, OSError, ImportError, MemoryError) as error:
            _print_error(options.parser.in_options(_one_line(error)))
            return BAD_INPUT


@functools.cache  # the parser is the same for all calls, and making it takes 0.1 s
def parser() -> Parser:
    """Return the parser of the command line, with all commands and their options."""
    top = Parser(prog="gasla", description="Graph algorithms on sparse matrices.", epilog=GRAPHS)
    top.add_argument("--version", action="version", version=f"gasla {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    compute.add_commands(commands)
    answer_table.add_commands(commands)
    picture.add_commands(commands)
    link_tables.add_commands(commands)
    made_graphs.add_commands(commands)
    tools.add_commands(commands)
    bench.add_commands(commands)
    return top


GRAPHS = (
    "GRAPH is a file, or the name of a graph that comes with gasla: openflights (airports and routes), ny-roads "
    "(streets of New York) or town (a synthetic town, with travel times in seconds). "
    "Vertices are numbered from 0, even if the file numbers them from 1. "
    "`gasla COMMAND --help` lists the options of a command."
)


def _one_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}"
    text = " ".join(str(error).split())
    if not isinstance(error, MemoryError):
        return text
    if "not enough memory" in text:
        return text
    hint = "" if text else f"{available('cpu') or 0:,} bytes are available; use a smaller graph"
    return f"not enough memory: {text}{hint}"


def _print_error(text: str) -> None:
    print(f"gasla: {text}", file=sys.stderr)

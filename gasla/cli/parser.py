"""The parser of the command line: what is wrong is said in one line, and which word was probably meant."""

import re
from argparse import ArgumentParser
from typing import Any, NoReturn

from gasla.names import meant


class Parser(ArgumentParser):
    """Python's own, whose errors are a line each; parsers of commands are of the same class."""

    def error(self, message: str) -> NoReturn:
        """Say it, and leave with exit code 2."""
        found = re.search(r"invalid choice: (['\"])(.*?)\1 \(choose from (.*)\)", message, re.DOTALL)
        if found:
            hint = meant(found[2], re.findall(r"[\w.-]+", found[3])) or f"; expected one of {found[3]}"
            message = f"{message[: found.start()]}there is no {found[2]!r}{hint}"
        self.exit(2, f"{self.prog}: {' '.join(message.split())} ({self.prog} --help)\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As Python's, but that an unknown option is an error of the command that was given it."""
        options, unknown = super().parse_known_args(args, namespace)
        for word in unknown:
            if word.startswith("-"):
                name = word.partition("=")[0]
                known = re.findall(r"(?<![\w-])--?[a-z][\w-]*", self.format_usage())
                self.error(f"there is no option {name!r}{meant(name, known)}")
        return options, unknown

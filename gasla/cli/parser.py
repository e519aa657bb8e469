"""The parser of the command line: errors are one line, with a suggestion for misspelled words."""

import re
from argparse import ArgumentParser
from typing import Any, NoReturn

from gasla.names import meant


class Parser(ArgumentParser):
    """An ArgumentParser with one-line errors; parsers of commands have the same class."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit with code 2."""
        found = re.search(r"invalid choice: (['\"])(.*?)\1 \(choose from (.*)\)", message, re.DOTALL)
        if found:
            hint = meant(found[2], re.findall(r"[\w.-]+", found[3])) or f"; expected one of {found[3]}"
            message = f"{message[: found.start()]}there is no {found[2]!r}{hint}"
        self.exit(2, f"{self.prog}: {' '.join(message.split())} ({self.prog} --help)\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As in ArgumentParser, but an unknown option is an error of the command, with a suggestion."""
        options, unknown = super().parse_known_args(args, namespace)
        for word in unknown:
            if word.startswith("-"):
                name = word.partition("=")[0]
                known = re.findall(r"(?<![\w-])--?[a-z][\w-]*", self.format_usage())
                self.error(f"there is no option {name!r}{meant(name, known)}")
        return options, unknown

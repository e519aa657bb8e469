"""The parser of the command line, whose errors are one line that suggests corrections of misspelled words.

Messages of gasla's functions mention arguments of Python. `Parser.in_options` turns them into options of the command.
"""

import re
from argparse import Action, ArgumentParser, BooleanOptionalAction
from typing import Any, NoReturn

from gasla.names import meant

# options that users mistake for each other, because each command has only one of them; errors suggest the one it has
ALIKE = {"--source", "--sources", "--starts", "--ids"}
# the part of a regular expression that matches the value after "name=" in an error message
_VALUE = r"""(…|'[^']*'|[\w.]+)?"""


class Parser(ArgumentParser):
    """An ArgumentParser that prints errors in one line. The parsers of the single commands are of this class, too."""

    def error(self, message: str) -> NoReturn:
        """Print the message of an error in the arguments, with a suggestion, and exit with code 2."""
        match = re.search(r"invalid choice: (['\"])(.*?)\1 \(choose from (.*)\)", message, re.DOTALL)
        if match:
            hint = meant(match[2], re.findall(r"[\w.-]+", match[3])) or f"; expected one of {match[3]}"
            message = f"{message[: match.start()]}there is no {match[2]!r}{hint}"
        self.exit(2, f"{self.prog}: {' '.join(message.split())} ({self.prog} --help)\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments as ArgumentParser does. Report an unknown option as an error of the command, with a
        suggestion.
        """
        options, unknown = super().parse_known_args(args, namespace)
        for word in unknown:
            if word.startswith("-"):
                name = word.partition("=")[0]
                known_options = re.findall(r"(?<![\w-])--?[a-z][\w-]*", self.format_usage())
                similar_options = [option for option in known_options if name in ALIKE and option in ALIKE]
                hint = f"; did you mean {similar_options[0]!r}?" if similar_options else meant(name, known_options)
                self.error(f"there is no option {name!r}{hint}")
        # the parser of the command has set this attribute already, before the parser of the whole program gets here
        options.parser = getattr(options, "parser", self)
        return options, unknown

    def in_options(self, message: str) -> str:
        """Return an error message of gasla's functions with the command line's options in place of the arguments in
        Python.

        Examples
        --------
        >>> parser = Parser()
        >>> _ = parser.add_argument("--weight"), parser.add_argument("--directed", action="store_true")
        >>> parser.in_options("pass weight=2 if they are weights, or src=0 and dst=1; pass directed=True")
        'pass --weight 2 if they are weights, or --columns 0,1; pass --directed'
        """
        options = {action.dest: action for action in self._actions if action.option_strings}
        for words, ours in _PHRASES.items():
            message = re.sub(words, ours, message)
        message = re.sub(rf"\bsrc={_VALUE},? (?:and )?dst={_VALUE}", _columns, message)

        def named(match: re.Match[str]) -> str:
            action = options.get(match[1])
            return match[0] if action is None else _with_value(action, match[2])

        message = re.sub(rf"\b([a-z]\w*)={_VALUE}", named, message)
        first, _, rest = message.partition(" is ")
        return f"{options[first].option_strings[-1]} is {rest}" if rest and first in options else message


_PHRASES = {
    r"\bnames=True": "--vertices names",
    r"\bnames=False": "--vertices numbers",
    r"\bsrc, dst, weight, attributes, names and": "--columns, --weight, --attributes, --vertices and",
    r"\bseparator and on_bad_rows\b": "--separator and --on-bad-rows",
    r"\bgasla\.io\.convert\b": "gasla convert",
    r"pass the result to Graph\.from_networkx, or ": "",
    r"; add it: graph\..*": "",
}


def _with_value(action: Action, value: str | None) -> str:
    """Return an option of the command line as text, with the value that an error message gives to the argument in
    Python.

    An option without a value (a flag) is returned alone, as its opposite, or after "no", depending on `value`.
    """
    option = action.option_strings[-1]
    if action.nargs != 0 or value is None:
        return option if value is None else f"{option} {value}"
    if isinstance(action, BooleanOptionalAction):
        return action.option_strings[value == "False"]
    return option if str(action.const) == value else f"no {option}"


def _columns(ends: re.Match[str]) -> str:
    return "--columns" + (f" {ends[1]},{ends[2]}" if ends[1] and ends[2] else " SRC,DST")

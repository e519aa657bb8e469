"""Text in columns: detect the separator and the comments, and iterate over rows with line numbers.

Comments are lines that begin with `#` or `%`: anywhere in an edge list, but only before the first row of a CSV file,
because names such as `#python` may begin with these characters.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Generator, Iterator
from contextlib import closing
from itertools import islice, takewhile
from pathlib import Path
from typing import NamedTuple

from gasla.graph.io.files import FormatError, is_number, open_text, translate_errors

SIGNS = (",", ";", "\t", "|")
SPACES = " "  # any number of spaces and tabs


class Layout(NamedTuple):
    """How a text file is divided into columns."""

    separator: str  # one character, or SPACES
    head: int = 0  # number of comments and empty lines before the first row
    has_comments: bool = False  # whether later lines may be comments
    is_spaced: bool = False  # whether spaces around each separator are not part of the cells
    left_out: frozenset[int] = frozenset()  # line numbers of bad rows to skip
    titles: tuple[str, ...] = ()  # in the comment above the first row, if it has as many columns


def look(path: Path, separator: str | None, is_csv: bool) -> Layout:
    """Detect the layout of a text file. The first rows determine the separator unless it is given."""
    check_separator(separator)
    lines = list(islice(_decoded(path), 4096))
    if lines and lines[0][:2] == "\ufffd\ufffd":
        raise FormatError(path, 1, "the file looks like UTF-16 by its first two bytes; expected UTF-8")
    is_comment = [line[:1] in ("#", "%") or not line.strip() for line in lines]
    head = 0 if all(is_comment) else is_comment.index(False)
    if 0 < head < len(lines) and lines[head][:1] == "\ufeff":
        raise FormatError(
            path, head + 1, "the line begins with a byte order mark; expected one at the begin of the file at most"
        )
    first = [line for line, comment in zip(lines[head:], is_comment[head:]) if line.strip() and not comment][:2]
    separator = separator or _separator(path, head + 1, first, is_csv)
    pairs = f"{separator} ", f" {separator}"
    is_spaced = len(first) == 2 and any(
        all(0 < line.count(separator) == line.count(pair) for line in first) for pair in pairs
    )
    titles = _titles_above(lines[head - 1], first[0], separator) if head and first else ()
    return Layout(separator, head, not is_csv, is_spaced and separator != SPACES, titles=titles)


def _titles_above(comment: str, row: str, separator: str) -> tuple[str, ...]:
    """Return the cells of a comment such as `#node1<tab>node2`, as STRING has them, if it has as many as the first row.

    A comment that is a sentence has a blank behind its sign.

    Examples
    --------
    >>> _titles_above("#node1 node2", "a b", " "), _titles_above("# of 5", "a b", " ")
    (('node1', 'node2'), ())
    """
    text = comment.lstrip("#%").rstrip("\r\n")
    if not comment.startswith(("#", "%")) or text[:1].isspace():
        return ()
    split = _words if separator == SPACES else lambda line: next(csv.reader([line], delimiter=separator), [])
    try:
        cells = [cell.strip(" \t") for cell in split(text)]
        return tuple(cells) if len(cells) == len(split(row.strip("\r\n"))) else ()
    except csv.Error:
        return ()


def check_separator(separator: str | None) -> None:
    """Raise ValueError for an invalid separator."""
    if separator is None:
        return
    if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n' or not separator.isascii():
        raise ValueError(
            f"separator is {separator!r}; expected one character, such as ';' or '\\t', or ' ' for any number of spaces"
        )


def _separator(path: Path, line: int, sample: list[str], is_csv: bool) -> str:
    """Return the character that divides the first rows into the same number of columns, two or more."""
    signs = [sign for sign in SIGNS if _columns(sample, sign) >= 2]
    if "," in signs and ";" in signs:
        raise FormatError(
            path, line, f"{sample[0].strip()[:60]!r} contains both ',' and ';'; pass separator=',' or separator=';'"
        )
    if signs:
        return signs[0]
    return "," if is_csv else SPACES


def _columns(sample: list[str], sign: str) -> int:
    """Return the number of columns of all rows, or 0 if they differ."""
    try:
        counts = {len(row) for row in csv.reader(sample, delimiter=sign) if row}
    except csv.Error:
        return 0
    return counts.pop() if len(counts) == 1 else 0


def rows(path: Path, layout: Layout) -> Generator[tuple[int, list[str]], None, None]:
    """Yield the rows with their line numbers, without empty lines and comments."""
    with closing(_decoded(path)) as lines:
        yield from _divided(path, lines, layout)


def first_rows(path: Path, layout: Layout, first: int, last: int) -> list[list[str]]:
    """Return some rows.

    The file is closed at once: Ctrl-C while Python frees a generator that was left would be lost.
    """
    with closing(rows(path, layout)) as each_row:
        return [row for _, row in islice(each_row, first, last)]


def _divided(path: Path, lines: Iterator[str], layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows in lines of a file, with their numbers."""
    if layout.has_comments:
        lines = ("\n" if line[:1] in ("#", "%") or not line.strip(" \r\n") else line for line in lines)
    else:
        lines = ("\n" if number < layout.head else line for number, line in enumerate(lines))
    if layout.separator == SPACES:
        divided = ((number, _words(line)) for number, line in enumerate(lines, start=1))
        yield from ((number, row) for number, row in divided if row and number not in layout.left_out)
        return
    reader = csv.reader(lines, delimiter=layout.separator, skipinitialspace=layout.is_spaced)
    try:
        for row in reader:
            if row and reader.line_num not in layout.left_out:
                yield reader.line_num, [cell.rstrip(" ") for cell in row] if layout.is_spaced else row
    except csv.Error as error:
        raise FormatError(path, reader.line_num, f"{error}; expected values separated by commas") from error


def _words(line: str) -> list[str]:
    """Split a line at spaces and tabs. Text in double quotes is one word.

    Examples
    --------
    >>> _words('"New York"  Oslo 5')
    ['New York', 'Oslo', '5']
    """
    if '"' not in line:
        return line.split()
    return next(csv.reader([line.replace("\t", " ").strip()], delimiter=" ", skipinitialspace=True), [])


def _decoded(path: Path) -> Generator[str, None, None]:
    with translate_errors(path), open_text(path) as text:
        for line in text:
            yield line.encode("latin-1").decode(errors="replace")


def is_plain(path: Path) -> bool:
    """Return whether the first row of an edge list has numbers separated by spaces, else the file is read as a table.

    In a plain edge list a later comma is an error in a weight, such as 1,5.
    """
    with translate_errors(path), open_text(path) as text:
        words = next((words for line in text if (words := line.split()) and words[0][0] not in "#%"), [])
    has_signs = any(sign in word for sign in ",;|" for word in words)
    numbers = sum(map(is_number, words[:2]))
    return numbers == 2 or (not has_signs and (len(words) < 2 or numbers == 1))


def is_bipartite(path: Path) -> bool:
    """Return whether a comment above the edges says so: ``% bip``, as KONECT has it."""
    with translate_errors(path), open_text(path) as text:
        comments = takewhile(lambda line: line[:1] in ("%", "#") or not line.strip(), text)
        return any(line.split()[:2] == ["%", "bip"] for line in comments)


def warn_of_bad_rows(path: Path, count: int, first: FormatError) -> None:
    """Warn with the number of skipped rows and the first error."""
    said = f"{count} bad row is" if count == 1 else f"{count} bad rows are"
    warnings.warn(f"{path}: {said} skipped, the first in line {first.line}: {first.said}", UserWarning, stacklevel=4)

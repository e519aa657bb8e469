"""Text files in columns: detection of the separator and of comments, and iteration over rows with line numbers.

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
SPACES = " "  # As a separator this means any number of spaces and tabs.


class Layout(NamedTuple):
    """The way in which a text file is divided into columns, and which of its lines are rows."""

    separator: str  # one character, or SPACES for any number of spaces and tabs
    head: int = 0  # number of comments and empty lines before the first row
    has_comments: bool = False  # whether lines below the first row may be comments, too
    # whether spaces next to separators are ignored, because each separator in the first two rows has a space on the
    # same side
    is_spaced: bool = False
    left_out: frozenset[int] = frozenset()  # line numbers of malformed rows, which `rows` skips
    # column titles from the comment above the first row, or () if their number differs from that of the columns
    titles: tuple[str, ...] = ()


def look(path: Path, separator: str | None, is_csv: bool) -> Layout:
    """Detect how a text file is divided into columns.

    The first two rows determine the separator if `separator` is None.
    """
    check_separator(separator)
    lines = list(islice(_decoded_lines(path), 4096))
    if lines and lines[0][:2] == "\ufffd\ufffd":
        raise FormatError(path, 1, "the file looks like UTF-16 by its first two bytes; expected UTF-8")
    is_comment = [line[:1] in ("#", "%") or not line.strip() for line in lines]
    head = 0 if all(is_comment) else is_comment.index(False)
    if 0 < head < len(lines) and lines[head][:1] == "\ufeff":
        raise FormatError(
            path, head + 1, "the line begins with a byte order mark; expected one at the begin of the file at most"
        )
    first_lines = [line for line, comment in zip(lines[head:], is_comment[head:]) if line.strip() and not comment][:2]
    separator = separator or _detect_separator(path, head + 1, first_lines, is_csv)
    pairs = f"{separator} ", f" {separator}"
    is_spaced = len(first_lines) == 2 and any(
        all(0 < line.count(separator) == line.count(pair) for line in first_lines) for pair in pairs
    )
    titles = _titles_above(lines[head - 1], first_lines[0], separator) if head and first_lines else ()
    return Layout(separator, head, not is_csv, is_spaced and separator != SPACES, titles=titles)


def _titles_above(comment: str, row: str, separator: str) -> tuple[str, ...]:
    """Return the column titles in a comment such as `#node1<tab>node2`. Return () unless there is one for each column.

    The STRING database writes such files. A comment that is a sentence has a blank after its sign, and holds no titles.

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
    """Raise ValueError unless a separator is None or a single suitable character."""
    if separator is None:
        return
    if not isinstance(separator, str) or len(separator) != 1 or separator in '"\r\n' or not separator.isascii():
        raise ValueError(
            f"separator is {separator!r}; expected one character, such as ';' or '\\t', or ' ' for any number of spaces"
        )


def _detect_separator(path: Path, line: int, sample: list[str], is_csv: bool) -> str:
    """Return the character that divides the first rows into an equal number of columns, which is at least two.

    If no character does, return a comma for CSV files and `SPACES` for edge lists.
    """
    signs = [sign for sign in SIGNS if _column_count(sample, sign) >= 2]
    if "," in signs and ";" in signs:
        raise FormatError(
            path, line, f"{sample[0].strip()[:60]!r} contains both ',' and ';'; pass separator=',' or separator=';'"
        )
    if signs:
        return signs[0]
    return "," if is_csv else SPACES


def _column_count(sample: list[str], sign: str) -> int:
    """Return the number of columns into which `sign` divides each row of the sample, or 0 if rows differ."""
    try:
        counts = {len(row) for row in csv.reader(sample, delimiter=sign) if row}
    except csv.Error:
        return 0
    return counts.pop() if len(counts) == 1 else 0


def rows(path: Path, layout: Layout) -> Generator[tuple[int, list[str]], None, None]:
    """Yield the rows of a text file, each with its line number.

    Empty lines, comments and the malformed rows that `layout` excludes are left out.
    """
    with closing(_decoded_lines(path)) as lines:
        yield from _split_rows(path, lines, layout)


def first_rows(path: Path, layout: Layout, first: int, last: int) -> list[list[str]]:
    """Return the rows from position `first` up to, and without, position `last`.

    The file is closed before this returns. Otherwise Python would close it when it frees the generator of rows, and
    lose Ctrl-C meanwhile.
    """
    with closing(rows(path, layout)) as each_row:
        return [row for _, row in islice(each_row, first, last)]


def _split_rows(path: Path, lines: Iterator[str], layout: Layout) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a text file, split into cells, each with its line number.

    `lines` are the lines of the file. Empty lines, comments and the rows that `layout` excludes are left out.
    """
    if layout.has_comments:
        lines = ("\n" if line[:1] in ("#", "%") or not line.strip(" \r\n") else line for line in lines)
    else:
        lines = ("\n" if line_number < layout.head else line for line_number, line in enumerate(lines))
    if layout.separator == SPACES:
        divided = ((line_number, _words(line)) for line_number, line in enumerate(lines, start=1))
        yield from ((line_number, row) for line_number, row in divided if row and line_number not in layout.left_out)
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


def _decoded_lines(path: Path) -> Generator[str, None, None]:
    with translate_errors(path), open_text(path) as text:
        for line in text:
            yield line.encode("latin-1").decode(errors="replace")


def is_plain(path: Path) -> bool:
    """Return whether an edge list consists of numbers separated by spaces. Otherwise it is read as a table.

    The first row decides, so that in such a list a later comma, as in the weight 1,5, is an error.
    """
    with translate_errors(path), open_text(path) as text:
        words_of_line = next(
            (words_of_line for line in text if (words_of_line := line.split()) and words_of_line[0][0] not in "#%"), []
        )
    has_signs = any(sign in word for sign in ",;|" for word in words_of_line)
    numbers = sum(map(is_number, words_of_line[:2]))
    return numbers == 2 or (not has_signs and (len(words_of_line) < 2 or numbers == 1))


def is_bipartite(path: Path) -> bool:
    """Return whether a comment above the edges of a file is ``% bip``, by which KONECT marks bipartite graphs."""
    with translate_errors(path), open_text(path) as text:
        comments = takewhile(lambda line: line[:1] in ("%", "#") or not line.strip(), text)
        return any(line.split()[:2] == ["%", "bip"] for line in comments)


def warn_of_bad_rows(path: Path, count: int, first: FormatError) -> None:
    """Warn that malformed rows were skipped. The warning states how many there are, and the error of the first one."""
    subject = f"{count} bad row is" if count == 1 else f"{count} bad rows are"
    warnings.warn(f"{path}: {subject} skipped, the first in line {first.line}: {first.said}", UserWarning, stacklevel=4)

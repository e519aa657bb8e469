"""Names of users in generated source and in file names; and suggestions for misspelt names.

In generated source the name of a field, a parameter or an aggregate follows a prefix: `src_rank`, `v_rank`. No name of
the engines begins with such a prefix and an underscore, so names never collide, even with keywords. A name that is not
an ASCII identifier gets an encoded inner name.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches

LONGEST = 150  # characters of an inner name, which becomes part of names in compiled code and of files
_PLAIN = re.compile(r"(?!named_)[A-Za-z]\w*", re.ASCII)


def inner(name: str) -> str:
    """Return the inner name of a field, parameter or aggregate: the name itself if it is plain, else a unique encoding.

    Examples
    --------
    >>> inner("rank"), inner("two words")
    ('rank', 'named_two_20_words')
    """
    return name if _PLAIN.fullmatch(name) else "named_" + re.sub("[^A-Za-z0-9]", lambda c: f"_{ord(c[0]):x}_", name)


def given(name: str) -> str:
    """Return the name in the program for an inner name.

    Examples
    --------
    >>> given("named_two_20_words")
    'two words'
    """
    if not name.startswith("named_"):
        return name
    return re.sub("_([0-9a-f]+)_", lambda code: chr(int(code[1], 16)), name.removeprefix("named_"))


def title(name: str) -> str:
    """Return a class's or a semiring's name for a comment or a file: at most 40 letters, digits and underscores.

    Examples
    --------
    >>> title("plus/times"), len(title("x" * 300))
    ('plus_times', 40)
    """
    return re.sub(r"\W+", "_", name, flags=re.ASCII)[:40]


def meant(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return a suffix for the error on an unknown name: the known name that was probably meant, if one is similar.

    Else the first known name that begins with the given one, or contains it.

    Examples
    --------
    >>> meant("actvate", ["apply", "activate"]), meant("x", ["apply", "activate"])
    ("; did you mean 'activate'?", '')
    >>> meant("louvain", ["bfs", "louvain-communities"])
    "; did you mean 'louvain-communities'?"
    """
    known = [*known]
    near = get_close_matches(name, known, 1, likeness)
    if not near and len(name) > 2:
        near = [each for each in known if each.startswith(name)] or [each for each in known if name in each]
    return f"; did you mean {near[0]!r}?" if near else ""

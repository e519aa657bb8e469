"""Users' names of fields and programs in generated source and in file names, and suggestions for misspelled names.

In generated source, the name of a field, a parameter or an aggregate follows a prefix, as in `src_rank` and `v_rank`.
No other name in that source begins with such a prefix and an underscore, so names never collide, even with keywords. A
name that is not an ASCII identifier is encoded.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches

# largest number of characters of a name that users give, as names become part of names in compiled code and of files
LONGEST = 150
_PLAIN = re.compile(r"(?!named_)[A-Za-z]\w*", re.ASCII)


def inner(name: str) -> str:
    """Return the name that a field, parameter or aggregate has in generated source, from the name that the user gave
    it.

    This is the name itself if it is an ASCII identifier, otherwise a unique encoding.

    Examples
    --------
    >>> inner("rank"), inner("two words")
    ('rank', 'named_two_20_words')
    """
    return name if _PLAIN.fullmatch(name) else "named_" + re.sub("[^A-Za-z0-9]", lambda c: f"_{ord(c[0]):x}_", name)


def given(name: str) -> str:
    """Return the name that the user gave a field, parameter or aggregate, from its name in generated source.

    The inverse of `inner`.

    Examples
    --------
    >>> given("named_two_20_words")
    'two words'
    """
    if not name.startswith("named_"):
        return name
    return re.sub("_([0-9a-f]+)_", lambda code: chr(int(code[1], 16)), name.removeprefix("named_"))


def title(name: str) -> str:
    """Return a class's or a semiring's name for a comment or a file name: at most 40 letters, digits and underscores.

    Examples
    --------
    >>> title("plus/times"), len(title("x" * 300))
    ('plus_times', 40)
    """
    return re.sub(r"\W+", "_", name, flags=re.ASCII)[:40]


def meant(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return a hint that suggests a similar name, for the end of an error about an unknown name, or an empty string.

    If no name is similar, this is the first known name that begins with the given name, or contains it.

    Examples
    --------
    >>> meant("actvate", ["apply", "activate"]), meant("x", ["apply", "activate"])
    ("; did you mean 'activate'?", '')
    >>> meant("louvain", ["bfs", "louvain-communities"])
    "; did you mean 'louvain-communities'?"
    """
    known = [*known]
    matches = get_close_matches(name, known, 1, likeness)
    if not matches and len(name) > 2:
        matches = [candidate for candidate in known if candidate.startswith(name)] or [
            candidate for candidate in known if name in candidate
        ]
    return f"; did you mean {matches[0]!r}?" if matches else ""

"""Names that people give, as generated source and file names may hold them.

In generated text the name of a field, a parameter or an aggregate follows a prefix: `src_rank`, `v_rank`. No name of
the engines' own begins with such a prefix and an underscore, so no two names meet, whatever a person's are: keywords,
too. A name that nobody knows may be one misspelt.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches

LONGEST = 150  # letters of an inner name: with others, it goes into names in compiled code, and of files
_PLAIN = re.compile(r"(?!named_)[A-Za-z]\w*", re.ASCII)


def inner(name: str) -> str:
    """The name by which engines know one that a person gave: itself, if it is plain, else one that no other name has.

    Examples
    --------
    >>> inner("rank"), inner("two words")
    ('rank', 'named_two_20_words')
    """
    return name if _PLAIN.fullmatch(name) else "named_" + re.sub("[^A-Za-z0-9]", lambda c: f"_{ord(c[0]):x}_", name)


def given(name: str) -> str:
    """The name that a person gave to what engines know by this one.

    Examples
    --------
    >>> given("named_two_20_words")
    'two words'
    """
    if not name.startswith("named_"):
        return name
    return re.sub("_([0-9a-f]+)_", lambda code: chr(int(code[1], 16)), name.removeprefix("named_"))


def title(name: str) -> str:
    """The name of a class or a semiring for a comment or a file: letters and digits, and not many.

    Examples
    --------
    >>> title("plus/times"), len(title("x" * 300))
    ('plus_times', 40)
    """
    return re.sub(r"\W+", "_", name, flags=re.ASCII)[:40]


def meant(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """What to add to an error on a name that isn't known: which one was probably meant, if one is like it.

    Examples
    --------
    >>> meant("actvate", ["apply", "activate"]), meant("x", ["apply", "activate"])
    ("; did you mean 'activate'?", '')
    """
    near = get_close_matches(name, known, 1, likeness)
    return f"; did you mean {near[0]!r}?" if near else ""

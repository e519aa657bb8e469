"""Deprecated names: each works for two more releases, with a warning that says what to use and when it will go."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def removal(since: str) -> str:
    """Return the release that removes a name deprecated in `since`: two minor releases later.

    From 1.0 on, it is the next major one.

    Examples
    --------
    >>> removal("0.2"), removal("1.3")
    ('0.4', '2.0')
    """
    major, minor = map(int, since.split("."))
    return f"{major}.{minor + 2}" if major == 0 else f"{major + 1}.0"


def warn(name: str, replacement: str, since: str) -> None:
    """Warn the caller of the calling function that it uses a deprecated name.

    Examples
    --------
    >>> def old(): warn("old", "new", "0.2")
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     old()
    >>> print(found[0].message)
    old is deprecated since gasla 0.2, and gasla 0.4 will not have it; use new
    """
    text = f"{name} is deprecated since gasla {since}, and gasla {removal(since)} will not have it; use {replacement}"
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def deprecated(replacement: str, *, since: str, parameter: str | None = None) -> Callable[[Function], Function]:
    """Mark a function as deprecated, or one `parameter` of it, which was renamed.

    Parameters
    ----------
    replacement : str
        What to use instead: an expression such as "gasla.bfs", or the new name of the parameter.
    since : str
        The release that deprecates it, such as "0.2".
    parameter : str, optional
        The old name of the parameter `replacement`; calls may pass it by keyword.

    Examples
    --------
    >>> @deprecated("limit", since="0.2", parameter="most")
    ... def count(limit=3): return limit
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     count(most=2)
    2
    >>> print(found[0].message)
    most of count is deprecated since gasla 0.2, and gasla 0.4 will not have it; use limit
    """

    def mark(function: Function) -> Function:
        name = function.__name__ if parameter is None else f"{parameter} of {function.__name__}"

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            if parameter is None:
                warn(name, replacement, since)
            elif parameter in options:
                warn(name, replacement, since)
                if replacement in options:
                    raise TypeError(f"{function.__name__} got both {parameter} and {replacement}; pass {replacement}")
                options[replacement] = options.pop(parameter)
            return function(*args, **options)

        return call  # type: ignore[return-value]

    return mark

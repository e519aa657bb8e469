"""What a program's functions receive: the fields of a vertex or an edge, by name."""

from collections.abc import Callable, Mapping
from typing import Any


class Record:
    """The fields of one vertex or edge, by name; what a program's functions receive."""

    def __init__(self, what: str, fields: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_what", what)
        object.__setattr__(self, "_fields", fields)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._fields[name]
        except KeyError:
            known = ", ".join(sorted(self._fields))
            raise AttributeError(f"a program's {self._what} has no field {name!r}; it has {known}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"{self._what}.{name} can't be assigned: return {{{name!r}: value}} from apply, post_apply or scatter"
        )


class Lazy(dict[str, Any]):
    """Fields that are made when first read."""

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        super().__init__(makers)
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = super().__getitem__(name)()
        return self._made[name]

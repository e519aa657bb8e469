"""Records: the arguments of a program's functions, with the fields of a vertex or an edge as attributes."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn

from gasla.program.hooks import HOOKS

RETURNING = [name for name, hook in HOOKS.items() if hook.returns.endswith("fields")]


class Record:
    """An argument of a program's functions, such as `src`: the fields of a vertex or an edge as attributes."""

    def __init__(self, what: str, fields: Mapping[str, Any], of_self: Collection[str] = ()) -> None:
        """Store the fields of a vertex or an edge, which a program's function reads as attributes.

        `what` is the kind of record for error messages, such as "vertex". `of_self` has the names of attributes of the
        program: if one of them is read from the record, the error says to read it from `self`.
        """
        object.__setattr__(self, "_what", what)
        object.__setattr__(self, "_fields", fields)
        object.__setattr__(self, "_of_self", of_self)

    def __getattr__(self, name: str) -> Any:
        try:
            return self._fields[name]
        except KeyError:
            field_names = ", ".join(sorted(self._fields))
            hint = f"; expected self.{name}, an attribute of the program" if name in self._of_self else ""
            raise AttributeError(
                f"a program's {self._what} has no field {name!r}; it has {field_names}{hint}"
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"{self._what}.{name} can't be assigned: return {{{name!r}: value}} from one of {', '.join(RETURNING)}"
        )

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self._what}.{name} can't be deleted: fields are declared for all")

    def __setitem__(self, name: Any, value: Any) -> None:
        self.__setattr__(name, value)

    def _is_no_value(self, *_: Any, **__: Any) -> NoReturn:
        fields = ", ".join(f"{self._what}.{name}" for name in sorted(self._fields)[:5])
        raise TypeError(
            f"a program's {self._what} is a record of fields, not a value: compute with its fields, such as {fields}; "
            "compare vertices by id, `src.id == dst.id`"
        )

    # By default, Python would compare records by identity, and take every record for true. Both would be mistakes that
    # nobody notices, so these methods raise an error instead.
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __hash__ = _is_no_value
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _is_no_value
    __getitem__ = __iter__ = __len__ = __contains__ = __float__ = __int__ = __index__ = _is_no_value
    __array__ = __array_ufunc__ = __array_function__ = _is_no_value

    def __repr__(self) -> str:
        return f"<a program's {self._what}: {', '.join(sorted(self._fields))}>"


class Lazy(dict[str, Any]):
    """A dict of fields whose values are computed when they are first read, by the functions given for them."""

    def __init__(self, makers: Mapping[str, Callable[[], Any]]) -> None:
        super().__init__(makers)
        self._made: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            self._made[name] = super().__getitem__(name)()
        return self._made[name]

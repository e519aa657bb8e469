"""How values are reduced into an array while other threads reduce into the same."""

from gasla.program.plan import Plan
from semirings import Expr, Symbol
from semirings.printers import python as printer

ATOMIC = '''
@jit
def improve{of}(field, v, value, shared):
    """field[v] = combine{of}(field[v], value); whether that changed it."""
    while True:
        old = load_unordered(field, v)
        new = combine{of}(old, value)
        if new == old or (new != new and old != old):
            return False
        if not shared:
            store_unordered(field, v, new)
            return True
        if compare_and_swap(field, v, old, new):
            return True


@jit
def accumulate{of}(field, v, value, shared):
    """field[v] = combine{of}(field[v], value); what it was before."""
    if not shared:
        old = field[v]
        field[v] = combine{of}(old, value)
        return old
    while True:
        old = load_unordered(field, v)
        if {settled}compare_and_swap(field, v, old, combine{of}(old, value)):
            return old
'''


def atomics(plan: Plan) -> list[str]:
    """The functions that reduce what is pushed, with those that they call beyond `combine`."""
    if plan.is_single:
        return [ATOMIC.format(of="", settled="is_final(old) or " if plan.final is not None else "")]
    texts = []
    for e, number in combinations(plan).items() if not plan.takes_first else ():
        texts.append(combination(f"combine_{number}", Symbol("x", e.type), Symbol("y", e.type), e))
        texts.append(ATOMIC.format(of=f"_{number}", settled=""))
    return texts


def combinations(plan: Plan) -> dict[Expr, int]:
    """How parts of what is gathered combine, each way once, and its number."""
    return {e: i for i, e in enumerate(dict.fromkeys(part.combined for part in plan.parts))}


def combination(name: str, x: Symbol, y: Symbol, result: Expr) -> str:
    """A function of two values."""
    adds = result.op in ("add", "multiply") and set(result.args) == {x, y} and x.dtype.kind == "f"
    return ("@reassociating\n" if adds else "@jit\n") + printer.function(name, [x, y], result)

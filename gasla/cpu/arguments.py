"""The arguments of the CPU engine's functions: every stage of a module takes the same ones."""

import functools

from gasla.plan import Plan


class Arguments(Plan):
    """Which arrays and scalars a program needs, in order."""

    @functools.cached_property
    def arrays(self) -> list[str]:
        """The array arguments, by name, in order."""
        t = self.traced
        names = ["control", "counts", "log"] + (["receivers"] if self.scheduled else [])
        names += ["queues"] if self.keeps_active and not self.scheduled else []
        names += ["starts"] if self.scheduled and not self.staged else []
        if self.keeps_active:
            names.append("bits")
        if self.staged:
            names.append("activated")
        if self.sends and not self.scheduled:
            names += ["claimed", "receivers"]
        elif self.keeps_receivers and not self.scheduled:
            names.append("receivers")
        if self.gathers and (self.two_phases or (self.pushes and not self.absorbs and not self.push_at_once)):
            names += [name for name, _ in self.components]
        names += ["far", "far_bits", "lows", "bounds"] if self.prioritised else []
        names += [f"v_{n}" for n in t.vertex_types]
        names += ["gp", "gi"] + (["ge"] if self.needs_gather_ids else [])
        names += [f"gv_{n}" for n in self.edge_values]
        if self.sends:
            names += ["sp", "si"] + (["se"] if self.needs_send_ids else [])
            names += [f"sv_{n}" for n in self.edge_values]
        names += [f"e_{n}" for n in self.edge_states]
        names += [f"{d[:-6]}p" for d in sorted(self.degrees)]
        names += [f"part_{n}" for n in t.aggregates]
        return names

    @functools.cached_property
    def scalars(self) -> list[str]:
        """The scalar arguments: parameters, what the last iteration's aggregates gave, and where the loop is."""
        t = self.traced
        bounds = ["delta", "threshold", "last_threshold"] if self.prioritised else []
        return [
            *bounds,
            "skewed",
            "narrow",
            "receiver_count",
            "self_n",
            "self_iteration",
            *(f"self_{n}" for n in (*t.parameter_types, *t.aggregates)),
        ]

    @functools.cached_property
    def after_control(self) -> list[str]:
        """The names of what is passed to every stage after `thread, threads, control`."""
        return [*(name for name in self.arrays if name != "control"), *self.scalars]

    @functools.cached_property
    def arguments(self) -> str:
        return ", ".join(["thread", "threads", *self.arrays, *self.scalars])

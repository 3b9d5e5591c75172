"""What the process does."""

from __future__ import annotations

from . import _cmwq


def stats() -> dict[str, int | bool]:
    """Returns counters of the process since its first use of cmwq.

    ``workers`` counts threads that execute tasks, ``turns_started`` how often one of them began: it
    makes call after call then. ``tick_cpu_ns`` is what watching them has cost, in nanoseconds. All
    counters but ``cpus`` and ``workers`` only grow.
    """
    return _cmwq.stats()


def cpus() -> int:
    """Returns how many CPUs tasks can keep busy: those that the process may use, at most its quota."""
    return _cmwq.cpus()

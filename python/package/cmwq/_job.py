"""Multithreaded jobs, and the hint that a call is about to wait."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import NamedTuple

from . import _check, _cmwq, _lock, _threads


class JobStats(NamedTuple):
    """What came of a job."""

    helpers: int
    """Threads that helped the calling one."""
    helped: int
    """Units that they have done."""
    chunks: int
    """Pieces that threads took."""
    claims: int
    """Of those, pieces that another thread had taken and not begun."""


def job(
    fn: Callable[[builtins.range], object],
    range: builtins.range | int,
    *,
    align: int = 1,
    min_chunk: int = 1,
    max_threads: int | None = None,
    nice: int | None = None,
    adaptive_chunks: bool = False,
    undo: Callable[[builtins.range], object] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> JobStats:
    """Calls ``fn`` with parts of a range, on idle CPUs and on the calling thread, until all is done.

        def brighten(rows):
            image[rows.start : rows.stop] *= 1.1  # numpy releases the interpreter's lock

        cmwq.job(brighten, range(len(image)))

    The parts take about 250 us each, whatever a unit takes. Calls run at the same time, in no
    order, and must not wait for each other. The function should release the interpreter's lock for
    most of its time, or the interpreter have none: otherwise helpers only take turns.

    Args:
        fn: Is called with a part of the range. The first exception ends the job and is raised.
        range: What to do; a number n means ``range(n)``.
        align: Cut only at multiples of so many units.
        min_chunk: The fewest units worth a call.
        max_threads: The most threads, the calling one included. None: one per CPU.
        nice: The helpers' priority, 0 to 19, on top of the process's. None: 19, so that nobody
            feels them; but 0 where the interpreter has a lock, which such a helper would keep.
        adaptive_chunks: Threads take about 1 ms of work, next to each other, instead of parts far
            apart.
        undo: Is called with each completed part if the job fails, in ascending order.
        progress: Is called with the units done and all units, about a hundred times.

    Raises:
        TypeError, ValueError: An argument is wrong. The message names it.
    """
    _check.function("fn", fn)
    whole = _whole(range)
    _check.function("undo", undo, optional=True)
    _check.function("progress", progress, optional=True)
    _threads.prepare()
    has_lock = _lock.follow()
    if nice is None:
        nice = 0 if has_lock else 19
    counts = _cmwq.job(
        lambda start, stop: fn(whole[start:stop]),
        len(whole),
        _check.integer("align", align, 1, 1 << 60),
        _check.integer("min_chunk", min_chunk, 1, 1 << 60),
        0 if max_threads is None else _check.integer("max_threads", max_threads, 1, 1 << 30),
        _check.integer("nice", nice, 0, 19),
        _check.flag("adaptive_chunks", adaptive_chunks),
        None if undo is None else lambda start, stop: undo(whole[start:stop]),
        progress,
    )
    return JobStats(*counts)


def _whole(range: builtins.range | int) -> builtins.range:
    if not isinstance(range, builtins.range):
        try:
            range = builtins.range(_check.integer("range", range, 0))
        except TypeError:
            kind = type(range).__name__
            raise TypeError(f"range must be a range or an integer, not {kind}") from None
    try:
        len(range)
    except OverflowError:
        raise ValueError(f"range must have at most {sys.maxsize} numbers") from None
    return range


class _Blocking:
    """See `blocking`."""

    __slots__ = ()

    def __enter__(self) -> None:
        _cmwq.blocking_begin()

    def __exit__(self, *exception: object) -> None:
        _cmwq.blocking_end()


_BLOCKING = _Blocking()


def blocking() -> _Blocking:
    """Says that the calling task is about to wait, so that another one may start at once.

        with cmwq.blocking():
            answer = connection.recv(4096)

    Never needed: cmwq notices by itself, within microseconds to milliseconds. Outside of a task it
    does nothing.
    """
    return _BLOCKING

"""What becomes of the parent's calls in a forked child."""

from __future__ import annotations

import threading
from concurrent.futures import Future, _base
from typing import Any

from . import _cmwq


def leave_parent() -> None:
    """Nobody in the child waits for what only the parent does.

    Threads that are not there may have held any lock of a future, and of who waits for it.
    """
    own, others, tasks = _cmwq.leave_parent()
    for future in own:
        # The call goes on in the child, which is to hear of its end alone.
        future._condition = threading.Condition()
        future._waiters.clear()
        future._done_callbacks.clear()
    end(others)
    # What the program has in the calls may look at the futures when it ends.
    del tasks


def end(futures: list[Future[Any]]) -> None:
    """These futures have ended. Their callbacks are the parent's."""
    renewed: set[int] = set()
    for future in futures:
        future._condition = threading.Condition()
        for waiter in future._waiters:
            if id(waiter) not in renewed:
                renewed.add(id(waiter))
                _renew(waiter)
        if future._state == _base.CANCELLED:
            future._state = _base.CANCELLED_AND_NOTIFIED
            for waiter in future._waiters:
                waiter.add_cancelled(future)
        elif not future.done():
            future._exception = _base.BrokenExecutor("the parent process makes this call")
            future._state = _base.FINISHED
            for waiter in future._waiters:
                waiter.add_exception(future)


def _renew(waiter: Any) -> None:
    """Who waits for several futures, as `as_completed` does."""
    event = threading.Event()
    if waiter.event.is_set():
        event.set()
    waiter.event = event
    if hasattr(waiter, "lock"):
        waiter.lock = threading.Lock()

"""What threads do with the calls of an executor."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, _base
from concurrent.futures.thread import BrokenThreadPool
from typing import Any

Task = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def serve(turn: Iterator[Task]) -> None:
    """Makes the calls of a thread's turn."""
    for future, fn, args, kwargs in turn:
        if future.set_running_or_notify_cancel():
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                # Without this frame, which would keep what the next calls use.
                if error.__traceback__ is not None:
                    error.__traceback__ = error.__traceback__.tb_next
                future.set_exception(error)
            else:
                future.set_result(result)
                result = None
        # Nothing of a call may live on while the thread waits for the next one.
        del future, fn, args, kwargs


class Initialized:
    """The threads that an executor has initialized."""

    def __init__(
        self,
        initializer: Callable[..., object],
        initargs: tuple[Any, ...],
        executor: weakref.ref[Any],
    ) -> None:
        self._initializer = initializer
        self._initargs = initargs
        self._executor = executor
        self._this_thread = threading.local()
        self.broken: str | None = None

    def add_this_thread(self) -> None:
        """Calls the initializer if this thread is new."""
        if self.broken or hasattr(self._this_thread, "done"):
            return
        try:
            self._initializer(*self._initargs)
        except BaseException:
            _base.LOGGER.critical("Exception in initializer:", exc_info=True)
            self.broken = "A thread initializer failed, the thread pool is not usable anymore"
            if (executor := self._executor()) is not None:
                executor._broken = self.broken
        else:
            self._this_thread.done = True


def serve_initialized(threads: Initialized, turn: Iterator[Task]) -> None:
    """As `serve`, in threads that the executor has initialized."""
    threads.add_this_thread()
    if threads.broken is None:
        return serve(turn)
    for future, fn, args, kwargs in turn:
        if future.set_running_or_notify_cancel():
            future.set_exception(BrokenThreadPool(threads.broken))
        del future, fn, args, kwargs


def call_each(
    fn: Callable[..., Any], calls: Iterable[tuple[Any, ...]]
) -> tuple[list[Any], BaseException | None]:
    """The results of calls in a row, up to the first that raises."""
    results: list[Any] = []
    try:
        for args in calls:
            results.append(fn(*args))
    except BaseException as error:
        return results, error
    return results, None


def thread_began(name: str) -> None:
    """A thread that Python has not made is about to make its first call."""
    threading.current_thread().name = name
    # What threading.Thread does for its own. The first since 3.10, private before 3.12.
    if (trace := threading.gettrace()) is not None:
        sys.settrace(trace)
    if (profile := threading.getprofile()) is not None:
        sys.setprofile(profile)


def thread_ends() -> None:
    """It ends. Up to Python 3.12 nobody else removes it from the list of threads."""
    if sys.version_info < (3, 13):
        threading._active.pop(threading.get_ident(), None)  # type: ignore[attr-defined]

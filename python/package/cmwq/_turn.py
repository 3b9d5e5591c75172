"""What threads do with the calls of an executor."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from concurrent.futures import Future, _base
from concurrent.futures.thread import BrokenThreadPool
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from . import _cmwq

_with_traceback = BaseException.with_traceback

Task = tuple["Future[Any]", Callable[..., Any], tuple[Any, ...], dict[str, Any]]


def serve(turn: _cmwq.Turn) -> None:
    """Makes the calls of a thread's turn."""
    _follow_hooks()
    for future, fn, args, kwargs in turn:
        if future.set_running_or_notify_cancel():
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                if turn.is_in_child():
                    _leave_child(error)
                # Without this frame, which would keep what the next calls use. An exception may
                # forbid assignments, as a frozen dataclass does.
                _with_traceback(error, sys.exc_info()[2].tb_next)
                future.set_exception(error)
            else:
                future.set_result(result)
                result = None
        # Nothing of a call may live on while the thread waits for the next one.
        del future, fn, args, kwargs
    # An exception that the program keeps has this frame, too.
    del turn


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


def serve_initialized(threads: Initialized, turn: _cmwq.Turn) -> None:
    """As `serve`, in threads that the executor has initialized."""
    _follow_hooks()
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
    thread = threading.current_thread()
    thread.name = name
    # Threads that a call starts inherit it, and are waited for when the program ends.
    thread._daemonic = False  # type: ignore[attr-defined]
    _follow_hooks()


class _Hooks(threading.local):
    """What the calling thread was last told to trace and to profile with."""

    trace: Any = None
    profile: Any = None


_hooks = _Hooks()


def _follow_hooks() -> None:
    """What threading.Thread does at its beginning. Threads of ours are there before an executor is,
    so they look again in each turn."""
    trace, profile = threading.gettrace(), threading.getprofile()
    if trace is not _hooks.trace:
        _hooks.trace = trace
        sys.settrace(trace)
    if profile is not _hooks.profile:
        _hooks.profile = profile
        sys.setprofile(profile)


def _leave_child(error: BaseException) -> NoReturn:
    """A call has forked and raises in the child, whose only thread this is."""
    status = 1
    try:
        if not isinstance(error, SystemExit):
            sys.excepthook(type(error), error, error.__traceback__)
        elif error.code is None or isinstance(error.code, int):
            status = error.code or 0
        else:
            print(error.code, file=sys.stderr)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(status & 0xFF)


def thread_ends() -> None:
    """It ends. Up to Python 3.12 nobody else removes it from the list of threads."""
    if sys.version_info < (3, 13):
        threading._active.pop(threading.get_ident(), None)  # type: ignore[attr-defined]

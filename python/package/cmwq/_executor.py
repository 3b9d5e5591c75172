"""The executor."""

from __future__ import annotations

import functools
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures.thread import BrokenThreadPool
from typing import Any, NoReturn, TypeVar

from . import _check, _cmwq, _fork, _lock, _threads, _turn

T = TypeVar("T")

_SCOPES = ("cpu", "smt", "cache_shard", "cache", "numa", "system")
#: Seconds that `shutdown` gives a call that could begin.
_MOMENT = 1.0
#: What libraries that ask for ``_max_workers`` are told if there is no limit.
_NO_LIMIT = 1024

_counter = itertools.count().__next__
#: Held while an executor gets its queue or closes it. A handler of a signal or a destructor may do
#: so in the middle of it, on the same thread. A forked child begins with a new one.
_starting = threading.RLock()
_executors: weakref.WeakSet[Executor] = weakref.WeakSet()
_exiting = False


class Executor(ThreadPoolExecutor):
    """Runs calls on threads whose number nobody has to choose.

    It starts another thread when a CPU would idle: calls that wait for a disk, a lock or the
    network run side by side, and calls that compute run one per CPU. Where the interpreter has a
    lock (the GIL), calls that compute in Python take turns on two threads or so.

    Executors share their threads, so one more costs nothing. It is a subclass of
    ``ThreadPoolExecutor`` because asyncio accepts nothing else as a loop's default executor.

    Args:
        name: For people: in reports and in ``repr``.
        max_active: At most so many calls run at once, 1 to 2048. A limit for what calls use beside
            CPUs, such as connections or memory. None: as many as keep the CPUs busy.
        nice: Priority of the threads, -20 to 19, on top of the process's own; what the system
            denies is degraded to what it permits. A thread with a high number that holds the
            interpreter's lock keeps others from it: use it where calls release the lock.
        affinity_scope: Which CPUs count as near to the submitting one: "cpu", "smt",
            "cache_shard", "cache", "numa" or "system". None: about eight cores of a cache.
        strict: Calls run near their submitter only, although other CPUs may idle.
        ordered: One call at a time, in the order of submission.
        initializer: Called in each thread before its first call of this executor. If it raises,
            the executor is broken: pending calls and later ones get ``BrokenExecutor``.
        initargs: Arguments for the initializer.

    Raises:
        TypeError, ValueError: An argument is of the wrong type or out of range. The message names
            it.

    Calls that are still pending when the program ends are executed first, as with
    ``ThreadPoolExecutor``. In a forked child the executor can be used: it has threads of its own
    there, and the parent's calls are the parent's.
    """

    def __init__(
        self,
        name: str | None = None,
        max_active: int | None = None,
        nice: int = 0,
        affinity_scope: str | None = None,
        strict: bool = False,
        ordered: bool = False,
        initializer: Callable[..., object] | None = None,
        initargs: Iterable[Any] = (),
    ) -> None:
        # The base class would make a pool of a fixed size: nothing of it is used but its type.
        if name is None:
            name = f"executor-{_counter()}"
        self._name = _check.text("name", name)
        self._ordered = _check.flag("ordered", ordered)
        self._max_active = self._limit(max_active)
        self._nice = _check.integer("nice", nice, -20, 19)
        self._scope = affinity_scope
        if affinity_scope is not None:
            if _check.text("affinity_scope", affinity_scope) not in _SCOPES:
                raise ValueError(
                    f"affinity_scope must be one of {', '.join(_SCOPES)}, not {affinity_scope!r}"
                )
        self._strict = _check.flag("strict", strict)
        self._initializer = _check.function("initializer", initializer, optional=True)
        try:
            self._initargs = tuple(initargs)
        except TypeError:
            kind = type(initargs).__name__
            raise TypeError(f"initargs must be an iterable, not {kind}") from None
        self._shutdown = False
        self._broken: str | bool = False
        self._queue: _cmwq.Queue | None = None
        self._push: Callable[[_turn.Task], bool] | None = None
        #: Tasks that a call of `shutdown` cancels just now.
        self._cancelling: list[list[_turn.Task]] = []
        _executors.add(self)

    def _limit(self, max_active: int | None) -> int | None:
        if max_active is None:
            return None
        if self._ordered:
            raise ValueError("max_active must be None if ordered is True: one call runs at a time")
        return _check.integer("max_active", max_active, 1, 2048)

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Schedules ``fn(*args, **kwargs)`` and returns its future.

        Raises:
            RuntimeError: After ``shutdown``, when the interpreter ends, or if the program's first
                call finds that the system has no thread for it.
            BrokenExecutor: An initializer has failed.
            TypeError: ``fn`` cannot be called.
        """
        if not callable(fn):
            _check.function("fn", fn)
        if self._broken:
            raise BrokenThreadPool(self._broken)
        future: Future[T] = Future()
        if not (self._push or self._start())((future, fn, args, kwargs)):
            self._refuse()
        return future

    def map(
        self,
        fn: Callable[..., T],
        *iterables: Iterable[Any],
        timeout: float | None = None,
        chunksize: int = 1,
        **kwargs: Any,
    ) -> Iterator[T]:
        """Returns an iterator over ``fn`` of the items of the iterables, in their order.

        Args:
            timeout: Seconds until ``TimeoutError``, counted from this call.
            chunksize: Calls that one thread makes in a row, as one task. More than 1 saves time
                if calls are tiny.
            buffersize: From Python 3.14 on: tasks that are submitted ahead of the iteration.
        """
        _check.function("fn", fn)
        timeout = _check.seconds("timeout", timeout)
        chunksize = _check.integer("chunksize", chunksize, 1)
        iterators = _check.iterables("iterables", iterables)
        if chunksize == 1:
            return super().map(fn, *iterators, timeout=timeout, **kwargs)
        # The order of evaluation and the errors are those of single calls.
        chunks = _chunks(zip(*iterators), chunksize)
        call = functools.partial(_turn.call_each, fn)
        results = super().map(call, chunks, timeout=timeout, **kwargs)
        return _flat(results)  # type: ignore[arg-type]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accepts no more calls.

        Args:
            wait: Return when all calls have ended. Ctrl-C interrupts the wait, not the calls.
            cancel_futures: Cancel those that have not begun. If none has, it first waits a moment
                for the thread that is on its way to the first one.

        Raises:
            RuntimeError: With ``wait`` from one of its own calls, which would never end.
            TypeError: An argument is no bool.
        """
        _check.flag("wait", wait)
        _check.flag("cancel_futures", cancel_futures)
        queue = self._close()
        if queue is None:
            return
        if cancel_futures:
            _let_begin(queue)
            self._cancel(queue)
        if wait:
            _wait(queue)

    def _cancel(self, queue: _cmwq.Queue) -> None:
        tasks: list[_turn.Task] = []
        # Before it is filled: another thread may fork at any time.
        self._cancelling.append(tasks)
        queue.take(tasks)
        for future, *_ in tasks:
            if future.cancel():
                # So that those who wait for several futures hear of it.
                future.set_running_or_notify_cancel()
        # What they call and use is the program's, and may end here.
        tasks.clear()

    def _close(self) -> _cmwq.Queue | None:
        with _starting:
            self._shutdown = True
            queue = self._queue
        if queue is not None:
            queue.close()
        return queue

    @property
    def name(self) -> str:
        """The name, for people."""
        return self._name

    @property
    def max_active(self) -> int | None:
        """How many calls may run at once; None: as many as keep the CPUs busy. May be changed to
        another number at any time."""
        return 1 if self._ordered else self._max_active

    @max_active.setter
    def max_active(self, max_active: int) -> None:
        if max_active is None:
            raise TypeError("max_active must be an integer, not NoneType")
        limit = self._limit(max_active)
        with _starting:
            self._max_active = limit
            if self._queue is not None and limit is not None:
                self._queue.set_max_active(limit)

    @property
    def _max_workers(self) -> int:  # type: ignore[override]
        """For libraries that want a number of threads, such as Dask's local scheduler."""
        return self.max_active or _NO_LIMIT

    @property
    def _work_queue(self) -> _cmwq.Queue | None:
        """For libraries that ask for its ``qsize()``."""
        return self._queue

    @property
    def _threads(self) -> set[threading.Thread]:  # type: ignore[override]
        """For libraries that count them: the threads that make calls of this executor now."""
        idents = self._queue.threads() if self._queue is not None else ()
        active = threading._active  # type: ignore[attr-defined]
        return {thread for ident in idents if (thread := active.get(ident)) is not None}

    def __repr__(self) -> str:
        limit = "" if self.max_active is None else f", max_active={self.max_active}"
        state = " (shut down)" if self._shutdown else ""
        return f"<{type(self).__qualname__} {self._name!r}{limit}{state}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")

    def _start(self) -> Callable[[_turn.Task], bool]:
        """The first call, in this process: makes the queue."""
        with _starting:
            if self._push is not None:
                return self._push
            if self._shutdown or _exiting:
                return lambda task: False
            _threads.prepare()
            if _lock.follow():
                _cmwq.learn_gil()
            queue = _cmwq.Queue(
                self._serve(),
                self._name,
                self._max_active,
                self._nice,
                self._scope,
                self._strict,
                self._ordered,
            )
            push = queue.push
            # A handler of a signal, or a destructor, may have made one meanwhile, or closed it.
            if self._push is None:
                if self._shutdown:
                    return lambda task: False
                self._queue, self._push = queue, push
            return self._push

    def _serve(self) -> Callable[[_cmwq.Turn], None]:
        if self._initializer is None:
            return _turn.serve
        threads = _turn.Initialized(self._initializer, self._initargs, weakref.ref(self))
        return functools.partial(_turn.serve_initialized, threads)

    def _refuse(self) -> None:
        if _exiting:
            raise RuntimeError("cannot schedule new futures after interpreter shutdown")
        raise RuntimeError("cannot schedule new futures after shutdown")

    def _leave_parent(self) -> None:
        """In a forked child: the queue, its threads and its calls are the parent's."""
        self._queue = self._push = None
        for tasks in self._cancelling:
            _fork.end([future for future, *_ in tasks])


def _chunks(calls: Iterable[tuple[Any, ...]], size: int) -> Iterator[tuple[tuple[Any, ...], ...]]:
    calls = iter(calls)
    while chunk := tuple(itertools.islice(calls, size)):
        yield chunk


def _flat(chunks: Generator[tuple[list[T], BaseException | None]]) -> Iterator[T]:
    try:
        for results, error in chunks:
            # Reversed and popped: what was given out is not kept.
            results.reverse()
            while results:
                yield results.pop()
            if error is not None:
                try:
                    raise error
                finally:
                    error = None
    finally:
        # Whoever keeps the error keeps this frame, and with it what would cancel the rest.
        chunks.close()


def _let_begin(queue: _cmwq.Queue) -> None:
    """What could begin at once does, although the caller has not let go of the interpreter."""
    deadline = time.monotonic() + _MOMENT
    while len(queue) and not queue.threads() and time.monotonic() < deadline:
        time.sleep(0.0005)


def _wait(queue: _cmwq.Queue, timeout: float = -1) -> None:
    """Waits until no call is pending or runs. A signal's handler may end it with an exception."""
    if queue.is_current():
        raise RuntimeError("cannot join current thread")
    idle = threading.Lock()
    idle.acquire()
    if queue.when_idle(idle):
        idle.acquire(timeout=timeout)


def _python_exit() -> None:
    global _exiting
    with _starting:
        _exiting = True
    queues = _cmwq.live_queues()
    try:
        for queue in queues:
            queue.close()
        for queue in queues:
            _wait(queue)
    finally:
        _cmwq.end()


def _after_fork_in_child() -> None:
    global _starting
    _starting = threading.RLock()
    _cmwq.forked()
    for executor in list(_executors):
        executor._leave_parent()
    _fork.leave_parent()


_cmwq.set_hooks(_turn.thread_began, _turn.thread_ends)
# As concurrent.futures does: before the interpreter waits for threads that are not daemons.
threading._register_atexit(_python_exit)  # type: ignore[attr-defined]
os.register_at_fork(
    before=_cmwq.forks_now,
    after_in_parent=_cmwq.has_forked,
    after_in_child=_after_fork_in_child,
)

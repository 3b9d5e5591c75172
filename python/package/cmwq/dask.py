"""Dask workers that run their tasks on cmwq.

From a shell, nothing else is needed:

    dask worker tcp://scheduler:8786 --preload cmwq.dask

or, for workers of any kind of cluster, in Dask's configuration:

    DASK_DISTRIBUTED__WORKER__PRELOAD='["cmwq.dask"]'

A worker then takes up to 64 tasks per CPU at a time, whatever ``--nthreads`` says, and cmwq decides
how many of them run. ``--resources cmwq=8`` sets that number instead, and is a limit: ``max_active``
of the executor.

In one process, hand the executor over: ``LocalCluster(processes=False, n_workers=1,
threads_per_worker=100, executor=cmwq.dask.ThreadPoolExecutor())``. There Dask has to be told how
many tasks it may hand over at a time.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from typing import Any

from distributed import WorkerPlugin
from distributed.threadpoolexecutor import thread_state

from . import _check, _cmwq, _executor, _stats, _turn

#: The resource of a worker that is the limit of its executor.
RESOURCE = "cmwq"
#: Tasks that a worker without that resource takes at a time, for each of its CPUs.
TASKS_PER_CPU = 64
#: Seconds that a worker that ends waits for its running tasks.
PATIENCE = 30


class ThreadPoolExecutor(_executor.Executor):
    """An executor for Dask workers. Dask tells thread pools from others by this name.

    Takes the arguments of ``cmwq.Executor``. A task that secedes, as ``worker_client`` and joblib do,
    does not count in ``max_active`` until it rejoins. As with Dask's own pool, tasks that still run
    do not keep the worker's process from ending.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._make_locks()

    def _make_locks(self) -> None:
        # What dask.distributed's rejoin() uses.
        self._rejoin_lock = threading.Lock()
        self._rejoin_list = _Rejoining(weakref.ref(self))

    def _leave_parent(self) -> None:
        super()._leave_parent()
        self._make_locks()

    def _serve(self) -> Callable[[_cmwq.Turn], None]:
        return functools.partial(_serve, weakref.ref(self), super()._serve())

    def _start(self) -> Callable[[_turn.Task], bool]:
        push = super()._start()
        if self._queue is not None:
            self._queue.set_daemon()
        return push

    def _adjust_thread_count(self) -> None:
        """A task has seceded: another one may run."""
        self._change_limit(1)

    def _change_limit(self, by: int) -> None:
        with self._rejoin_list.lock:
            if self.max_active is not None and not self._ordered:
                self.max_active = min(max(self.max_active + by, 1), 2048)

    def shutdown(
        self, wait: bool = True, *, cancel_futures: bool = True, timeout: float | None = PATIENCE
    ) -> None:
        """As the executor's, but drops what has not begun, and waits for a limited time."""
        timeout = _check.seconds("timeout", timeout)
        _check.flag("wait", wait)
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        if wait and self._queue is not None:
            _executor._wait(self._queue, -1 if timeout is None else max(timeout, 0))


class _Rejoining:
    """Where dask.distributed's rejoin() appends a thread and an event for it to wait for."""

    def __init__(self, executor: weakref.ref[ThreadPoolExecutor]) -> None:
        self._executor = executor
        self.lock = threading.Lock()

    def append(self, rejoining: tuple[threading.Thread, threading.Event]) -> None:
        if (executor := self._executor()) is not None:
            executor._change_limit(-1)
        rejoining[1].set()


def _serve(
    executor: weakref.ref[ThreadPoolExecutor],
    serve: Callable[[_cmwq.Turn], None],
    turn: _cmwq.Turn,
) -> None:
    # What dask.distributed's secede() and rejoin() use.
    thread_state.proceed = True
    thread_state.executor = executor()
    try:
        serve(turn)
    finally:
        del thread_state.proceed, thread_state.executor


def install(worker: Any) -> None:
    """Gives a ``distributed.Worker`` an executor of ours instead of its own."""
    limit = worker.state.total_resources.get(RESOURCE)
    if limit is not None and not (limit == int(limit) and 1 <= limit <= 2048):
        raise ValueError(f"the resource {RESOURCE} must be a whole number from 1 to 2048: {limit}")
    executor = ThreadPoolExecutor(
        name=f"dask-{worker.name}", max_active=None if limit is None else int(limit)
    )
    before = worker.executors.get("default")
    worker.executors["default"] = executor
    # How many tasks the worker hands over at a time. Told to the scheduler when it registers.
    worker.state.nthreads = executor.max_active or TASKS_PER_CPU * _stats.cpus()
    if before is not None:
        before.shutdown(wait=False)


def dask_setup(worker: Any) -> None:
    """Called by Dask: ``--preload cmwq.dask``."""
    install(worker)


class CmwqPlugin(WorkerPlugin):
    """Installs the executor in workers that run already: ``client.register_plugin(CmwqPlugin())``.

    The scheduler still sends such a worker no more tasks at a time than its ``nthreads`` were when it
    registered. Prefer the preload.
    """

    name = "cmwq"
    idempotent = True

    def setup(self, worker: Any) -> None:
        install(worker)

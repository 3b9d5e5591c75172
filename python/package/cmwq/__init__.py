"""Run Python functions on threads whose number nobody has to choose.

    import cmwq

    with cmwq.Executor() as executor:
        pages = list(executor.map(fetch, urls))

``Executor`` is a ``concurrent.futures.Executor`` without ``max_workers``. It starts another
thread when a CPU would idle, because tasks wait, and none while the CPUs, or the interpreter's
lock, are busy.

* ``Executor``: submit, map, shutdown as everywhere; also the default executor of asyncio.
* ``job``: split one long loop over idle CPUs.
* ``blocking``: say that a task is about to wait. Never needed.
* ``stats``, ``cpus``: what the process does.
* ``cmwq.dask``, ``cmwq.joblib``: the same under Dask and joblib.
"""

from concurrent.futures import BrokenExecutor

from ._executor import Executor
from ._job import JobStats, blocking, job
from ._stats import cpus, stats

__all__ = ["BrokenExecutor", "Executor", "JobStats", "blocking", "cpus", "job", "stats"]
__version__ = "0.1.0"

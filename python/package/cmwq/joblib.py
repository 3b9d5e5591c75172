"""A joblib backend.

    import cmwq.joblib

    cmwq.joblib.register()
    with joblib.parallel_config(backend="cmwq"):
        joblib.Parallel()(joblib.delayed(fetch)(url) for url in urls)

Without ``n_jobs``, and with a negative one, cmwq decides how many tasks run. With ``n_jobs=8`` it
runs at most eight. Tasks share the memory of the process, as with joblib's threading backend.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import joblib
from joblib._parallel_backends import FallbackToBackend, SequentialBackend
from joblib.parallel import ParallelBackendBase

from . import _check
from ._executor import _NO_LIMIT, Executor


class CmwqBackend(ParallelBackendBase):
    """Runs the tasks of ``joblib.Parallel`` on an ``Executor``."""

    default_n_jobs = -1
    supports_retrieve_callback = True
    supports_sharedmem = True
    uses_threads = True

    _executor: Executor | None = None
    _limit: int | None = None

    def effective_n_jobs(self, n_jobs: int | None) -> int:
        """How many tasks may be under way; joblib prepares some more."""
        if n_jobs is None:
            n_jobs = self.default_n_jobs
        n_jobs = _check.integer("n_jobs", n_jobs, -(1 << 62))
        if n_jobs == 0:
            raise ValueError("n_jobs must not be 0")
        return min(n_jobs, 2048) if n_jobs > 0 else _NO_LIMIT

    def configure(
        self, n_jobs: int | None = None, parallel: Any = None, **kwargs: Any
    ) -> int:
        if n_jobs == 1:
            raise FallbackToBackend(SequentialBackend(nesting_level=self.nesting_level))
        self.parallel = parallel
        effective = self.effective_n_jobs(n_jobs)
        self._limit = effective if n_jobs is not None and n_jobs > 0 else None
        return effective

    def submit(
        self, func: Callable[[], Any], callback: Callable[[Future[Any]], object] | None = None
    ) -> Future[Any]:
        if self._executor is None:
            self._executor = Executor("joblib", max_active=self._limit)
        future = self._executor.submit(func)
        if callback is not None:
            future.add_done_callback(callback)
        return future

    #: Its name up to joblib 1.4.
    apply_async = submit

    def retrieve_result_callback(self, out: Future[Any]) -> Any:
        return out.result()

    def terminate(self) -> None:
        self._end(cancel=False)

    def abort_everything(self, ensure_ready: bool = True) -> None:
        self._end(cancel=True)

    def _end(self, cancel: bool) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=cancel)

    def get_nested_backend(self) -> tuple[ParallelBackendBase, None]:
        # Threads are shared: what is nested adds none that could not run.
        return CmwqBackend(nesting_level=(self.nesting_level or 0) + 1), None


def register(make_default: bool = False) -> None:
    """Makes the backend known to joblib as "cmwq"."""
    make_default = _check.flag("make_default", make_default)
    joblib.register_parallel_backend("cmwq", CmwqBackend, make_default=make_default)

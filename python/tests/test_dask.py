"""Dask: workers of all kinds, and what tasks may do in them."""

import pathlib
import re
import subprocess
import sys
import threading
import time

import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

import cmwq  # noqa: E402
from cmwq.dask import CmwqPlugin, ThreadPoolExecutor  # noqa: E402

EXAMPLE = pathlib.Path(__file__).parent.parent / "examples" / "dask_cluster.py"


def example(*options):
    """Seconds that the example takes. It checks its result."""
    command = [sys.executable, EXAMPLE, *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return float(re.search(r"in ([0-9.]+) s", done.stdout)[1])


def test_two_workers_on_loopback_are_faster_than_with_their_own_executor():
    assert example() < example("--own")


def test_a_killed_worker_loses_nothing():
    example("--kill")


@pytest.fixture
def cluster():
    executor = ThreadPoolExecutor(max_active=3)
    with distributed.LocalCluster(
        processes=False, n_workers=1, threads_per_worker=8, executor=executor, dashboard_address=None
    ) as cluster, distributed.Client(cluster) as client:
        yield client


def where():
    return threading.current_thread().name


def test_local_cluster(cluster):
    assert cluster.submit(where).result().startswith("cmwq/")
    assert cluster.gather(cluster.map(abs, range(-50, 0))) == list(range(50, 0, -1))


def test_tasks_may_use_clients_and_secede(cluster):
    """More of them than the limit: each gives up its place while it waits."""

    def outer(n):
        with distributed.worker_client() as client:
            return sum(client.gather(client.map(abs, range(n), pure=False)))

    got = cluster.gather(cluster.map(outer, range(8)))
    assert got == [sum(range(n)) for n in range(8)]


def test_a_plugin_for_workers_that_run():
    with distributed.LocalCluster(
        processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
    ) as cluster, distributed.Client(cluster) as client:
        client.register_plugin(CmwqPlugin())
        assert client.submit(where).result().startswith("cmwq/")


def test_resources_are_the_limit():
    with dask.config.set({"distributed.worker.preload": ["cmwq.dask"]}):
        with distributed.LocalCluster(
            processes=False, n_workers=1, resources={"cmwq": 5}, dashboard_address=None
        ) as cluster, distributed.Client(cluster):
            (worker,) = cluster.workers.values()
            assert worker.state.nthreads == 5
            assert worker.executors["default"].max_active == 5
            (seen,) = cluster.scheduler.workers.values()
            assert seen.nthreads == 5


def test_the_local_scheduler_of_dask():
    with cmwq.Executor() as executor, dask.config.set(pool=executor):
        waits = [dask.delayed(time.sleep)(0.05) for _ in range(40)]
        dask.compute(*waits, scheduler="threads")
        tasks = [dask.delayed(pow)(n, 2) for n in range(40)]
        assert dask.compute(*tasks, scheduler="threads") == tuple(n * n for n in range(40))

"""The interpreter's lock: items that compute do not make threads grow, items that wait do."""

import contextlib
import math
import pathlib
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import cmwq

HAS_LOCK = getattr(sys, "_is_gil_enabled", lambda: True)()


def threads():
    """Those that make calls. Beside them the engine has three, and one per CPU."""
    names = (task / "comm" for task in pathlib.Path("/proc/self/task").iterdir())
    count = 0
    for name in names:
        with contextlib.suppress(OSError):
            count += name.read_text().startswith("cmwq/u")
    return count


class Peak:
    """The most threads of executors while it is entered."""

    def __enter__(self):
        self.most = 0
        self.over = threading.Event()
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        return self

    def watch(self):
        while not self.over.wait(0.005):
            self.most = max(self.most, threads())

    def __exit__(self, *exception):
        self.over.set()
        self.watcher.join()


def burn(seconds):
    """Computes in Python for so much CPU time of the calling thread."""
    end = time.thread_time() + seconds
    count = 0
    while time.thread_time() < end:
        for _ in range(1000):
            count += 1
    return count


def allowed(seconds):
    """Threads at most, of items that took so long. The busier the machine, the longer they take, and
    the more trials begin meanwhile: after 0.1 s, 0.4 s, 1.6 s and so on."""
    return cmwq.cpus() + 6 + math.ceil(math.log(max(seconds, 1), 4))


def alone(test, *args):
    """Runs a function of this file in a process of its own: idle threads stay for minutes."""
    call = f"import test_lock; test_lock.{test}(*{args!r})"
    folder = pathlib.Path(__file__).parent
    subprocess.run([sys.executable, "-c", call], cwd=folder, check=True, timeout=120)


@pytest.mark.skipif(not HAS_LOCK, reason="this interpreter has no lock")
@pytest.mark.parametrize("length", [0.001, 0.02, 0.3])
def test_items_that_compute_do_not_make_threads_grow(length):
    alone("compute", length)


def compute(length):
    count = max(10, int(1 / length))
    begin = time.monotonic()
    with cmwq.Executor() as executor, Peak() as peak:
        list(executor.map(burn, [length] * count))
    assert 1 <= peak.most <= allowed(time.monotonic() - begin), peak.most
    # A thread that has the lock makes calls for as long as Python lets it keep the lock. A thread
    # per call would come and go 1,000 times.
    most = 20 + count * length / sys.getswitchinterval()
    assert cmwq.stats()["turns_started"] <= most


@pytest.mark.skipif(not HAS_LOCK, reason="this interpreter has no lock")
def test_several_executors_share_the_lock():
    alone("compute_in_several")


def compute_in_several():
    begin = time.monotonic()
    with Peak() as peak:
        executors = [cmwq.Executor() for _ in range(30)]
        futures = [executor.submit(burn, 0.03) for executor in executors for _ in range(2)]
        for future in futures:
            future.result()
    assert 1 <= peak.most <= allowed(time.monotonic() - begin), peak.most


def test_items_that_wait_run_side_by_side():
    """All must have begun before one may end."""
    barrier = threading.Barrier(100)
    with cmwq.Executor() as executor:
        got = executor.map(lambda _: barrier.wait(60), range(100))
        assert sorted(got) == list(range(100))


def test_items_that_wait_begin_beside_some_that_compute():
    over = threading.Event()

    def compute():
        while not over.is_set():
            burn(0.01)

    barrier = threading.Barrier(30)
    with cmwq.Executor() as executor:
        for _ in range(2):
            executor.submit(compute)
        got = executor.map(lambda _: barrier.wait(60), range(30))
        try:
            assert sorted(got) == list(range(30))
        finally:
            over.set()


def test_items_that_poll_for_a_later_one_end():
    """They compute, so nobody sees that they wait."""
    with cmwq.Executor() as executor:
        done = threading.Event()

        def poll():
            while not done.is_set():
                pass

        polling = [executor.submit(poll) for _ in range(4)]
        executor.submit(done.set)
        for future in polling:
            future.result(120)


def test_waiting_takes_a_fraction_of_its_sum():
    with cmwq.Executor() as executor:
        begin = time.monotonic()
        list(executor.map(time.sleep, [0.2] * 50))
        assert time.monotonic() - begin < 50 * 0.2 / 4


@pytest.mark.skipif(HAS_LOCK, reason="threads take turns")
@pytest.mark.skipif(cmwq.cpus() < 2, reason="needs two CPUs")
def test_items_compute_side_by_side_without_a_lock():
    together = threading.Barrier(2)

    def call(_):
        together.wait(60)
        return burn(0.2)

    with cmwq.Executor() as executor:
        assert all(executor.map(call, range(2)))


def rounds_of_this_thread():
    """Seconds until this thread has got the lock forty times."""
    time.sleep(0.05)
    begin = time.perf_counter()
    for _ in range(40):
        time.sleep(0)
    return time.perf_counter() - begin


def beside_a_chain(executor):
    """The same beside calls that submit each other."""
    over = threading.Event()

    def call():
        if not over.is_set():
            executor.submit(call)

    executor.submit(call)
    seconds = rounds_of_this_thread()
    over.set()
    return seconds


def beside_a_thread(compute):
    """The same beside a thread that computes until it is over."""
    over = threading.Event()
    thread = threading.Thread(target=compute, args=(over,))
    thread.start()
    seconds = rounds_of_this_thread()
    over.set()
    thread.join()
    return seconds


@pytest.fixture(params=[0.001, 0.005, 0.02])
def switch_interval(request):
    before = sys.getswitchinterval()
    sys.setswitchinterval(request.param)
    yield
    sys.setswitchinterval(before)


needs_lock = pytest.mark.skipif(not HAS_LOCK, reason="the interpreter has no lock")


@needs_lock
@pytest.mark.usefixtures("switch_interval")
def test_who_asks_for_the_lock_gets_it_beside_a_chain_of_tiny_calls():
    with cmwq.Executor(max_active=1) as ours, ThreadPoolExecutor(1) as theirs:
        ratio = beside_a_chain(ours) / beside_a_chain(theirs)
    assert ratio < 8


@needs_lock
@pytest.mark.usefixtures("switch_interval")
def test_who_asks_for_the_lock_gets_it_beside_a_job():
    def job(over):
        def step(part):
            sum(part)
            if over.is_set():
                raise InterruptedError

        with contextlib.suppress(InterruptedError):
            cmwq.job(step, range(1 << 40))

    def loop(over):
        while not over.is_set():
            sum(range(1000))

    assert beside_a_thread(job) / beside_a_thread(loop) < 8

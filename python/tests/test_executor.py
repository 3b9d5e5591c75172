"""What every Executor does, and what ours refuses."""

import concurrent.futures
import gc
import itertools
import logging
import os
import subprocess
import sys
import textwrap
import threading
import time
import weakref

import pytest

import cmwq


def script(text, **kwargs):
    """Runs a program, and returns its status and output."""
    command = [sys.executable, "-c", textwrap.dedent(text)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **kwargs)
    return done.returncode, done.stdout, done.stderr


def test_is_what_libraries_ask_for():
    with cmwq.Executor() as executor:
        assert isinstance(executor, concurrent.futures.Executor)
        assert isinstance(executor, concurrent.futures.ThreadPoolExecutor)
        assert isinstance(executor.submit(int), concurrent.futures.Future)


def test_results_errors_and_keywords():
    with cmwq.Executor() as executor:
        assert executor.submit(divmod, 7, 2).result() == (3, 1)
        assert executor.submit(dict, fn=1, self=2).result() == {"fn": 1, "self": 2}
        error = executor.submit(divmod, 7, 0).exception()
        assert isinstance(error, ZeroDivisionError)


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_errors_of_any_kind_stay_with_their_call(kind):
    def fails():
        raise kind("so")

    with cmwq.Executor() as executor:
        with pytest.raises(kind, match="so"):
            executor.submit(fails).result()
        assert executor.submit(int).result() == 0


def test_wait_and_as_completed():
    with cmwq.Executor() as executor:
        futures = {executor.submit(pow, 2, n): n for n in range(50)}
        done = {futures[future] for future in concurrent.futures.as_completed(futures)}
        assert done == set(range(50))
        finished, pending = concurrent.futures.wait(futures)
        assert len(finished) == 50 and not pending


def test_cancel():
    release = threading.Event()
    with cmwq.Executor(ordered=True) as executor:
        first = executor.submit(release.wait)
        second = executor.submit(int)
        assert second.cancel()
        release.set()
        assert first.result()
        assert second.cancelled()


@pytest.mark.parametrize("chunksize", [1, 2, 7, 1000])
def test_map(chunksize):
    with cmwq.Executor() as executor:
        got = executor.map(pow, range(100), itertools.repeat(2), chunksize=chunksize)
        assert list(got) == [n * n for n in range(100)]
        got = executor.map(lambda n: 1 // (5 - n), range(10), chunksize=chunksize)
        assert [next(got) for _ in range(5)] == [0, 0, 0, 0, 1]
        with pytest.raises(ZeroDivisionError):
            next(got)
        assert list(executor.map(int, [], chunksize=chunksize)) == []


@pytest.mark.parametrize("chunksize", [1, 3])
def test_map_times_out(chunksize):
    release = threading.Event()
    with cmwq.Executor() as executor:
        got = executor.map(lambda n: n or release.wait(), range(2), timeout=0, chunksize=chunksize)
        with pytest.raises(concurrent.futures.TimeoutError):
            next(got)
        release.set()


@pytest.mark.skipif(sys.version_info < (3, 14), reason="buffersize is new in Python 3.14")
@pytest.mark.parametrize("chunksize", [1, 3])
def test_map_submits_no_more_than_its_buffer(chunksize):
    taken = itertools.count()
    with cmwq.Executor() as executor:
        got = executor.map(int, (next(taken) for _ in range(99)), buffersize=2, chunksize=chunksize)
        assert next(got) == 0
        assert next(taken) <= 4 * chunksize
        assert next(got) == 1


def test_order_of_starts():
    begun = []
    with cmwq.Executor(ordered=True) as executor:
        executor.map(begun.append, range(1000))
    assert begun == list(range(1000))


@pytest.mark.parametrize("limit", [1, 3])
def test_never_more_than_max_active_run(limit):
    lock, running, most = threading.Lock(), 0, 0

    def call(_):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.002)
        with lock:
            running -= 1

    with cmwq.Executor(max_active=limit) as executor:
        list(executor.map(call, range(50)))
    assert most == limit


def test_max_active_may_grow():
    both = threading.Barrier(2)
    with cmwq.Executor(max_active=1) as executor:
        first = executor.submit(both.wait, 30)
        second = executor.submit(both.wait, 30)
        executor.max_active = 2
        assert sorted([first.result(), second.result()]) == [0, 1]
        assert executor.max_active == 2


def test_calls_may_wait_for_later_ones():
    with cmwq.Executor() as executor:

        def chain(n):
            return n and 1 + executor.submit(chain, n - 1).result()

        assert executor.submit(chain, 40).result() == 40
        barrier = threading.Barrier(40)
        assert sorted(executor.map(lambda _: barrier.wait(60), range(40))) == list(range(40))


def test_blocking_is_a_hint():
    with cmwq.blocking(), cmwq.blocking():
        pass
    barrier = threading.Barrier(30)

    def call(_):
        with cmwq.blocking():
            return barrier.wait(60)

    with cmwq.Executor() as executor:
        assert sorted(executor.map(call, range(30))) == list(range(30))


def test_ten_thousand_calls_that_raise():
    def fails(n):
        raise ValueError(n)

    with cmwq.Executor() as executor:
        futures = [executor.submit(fails, n) for n in range(10_000)]
        assert [future.exception().args[0] for future in futures] == list(range(10_000))
        assert executor.submit(int).result() == 0


def test_a_traceback_begins_in_the_call():
    def fails():
        raise ValueError

    with cmwq.Executor() as executor:
        error = executor.submit(fails).exception()
        assert error.__traceback__.tb_frame.f_code.co_name == "fails"
        error = executor.submit(int, "x").exception()
        assert error.__traceback__ is None


def test_nothing_of_a_call_is_kept():
    class Thing:
        pass

    with cmwq.Executor() as executor:
        thing = Thing()
        gone = weakref.ref(thing)
        future = executor.submit(lambda arg: None, thing)
        future.result()
        del thing, future
        # The thread may be about to leave the call.
        executor.submit(int).result()
        deadline = time.monotonic() + 30
        while gone() is not None and time.monotonic() < deadline:
            gc.collect()
            time.sleep(0.001)
        assert gone() is None


def test_an_executor_without_owner_makes_its_calls():
    executor = cmwq.Executor()
    gone = weakref.ref(executor)
    futures = [executor.submit(time.sleep, 0.01) for _ in range(20)]
    del executor
    gc.collect()
    assert gone() is None
    assert all(future.result() is None for future in futures)


def test_shutdown():
    executor = cmwq.Executor()
    slow = [executor.submit(time.sleep, 0.05) for _ in range(10)]
    executor.shutdown()
    assert all(future.done() for future in slow)
    executor.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(int)
    cmwq.Executor().shutdown()


def test_shutdown_cancels_what_has_not_begun():
    begun, release = threading.Event(), threading.Event()
    executor = cmwq.Executor(max_active=1)
    first = executor.submit(lambda: begun.set() or release.wait())
    rest = [executor.submit(int) for _ in range(100)]
    assert begun.wait(60)
    executor.shutdown(wait=False, cancel_futures=True)
    assert all(future.cancelled() for future in rest)
    # Whoever waits for several futures is told.
    assert len(concurrent.futures.wait(rest, timeout=60).done) == 100
    release.set()
    executor.shutdown()
    assert first.result() is True


def test_shutdown_within_a_call_would_never_end():
    executor = cmwq.Executor()
    with pytest.raises(RuntimeError, match="cannot join current thread"):
        executor.submit(executor.shutdown).result()
    executor.shutdown()


def test_callbacks_that_raise_harm_nobody(caplog):
    def fails(future):
        raise SystemExit

    with cmwq.Executor() as executor:
        done = threading.Event()
        future = executor.submit(done.wait)
        future.add_done_callback(lambda future: 1 // 0)
        future.add_done_callback(fails)
        done.set()
        assert future.result()
        assert executor.submit(int).result() == 0


def test_initializer_runs_once_in_each_thread():
    seen = []

    def initialize(*args):
        seen.append((threading.get_ident(), args))

    barrier = threading.Barrier(4)
    with cmwq.Executor(initializer=initialize, initargs=(1, 2)) as executor:
        for _ in range(3):
            list(executor.map(lambda _: barrier.wait(60), range(4)))
    threads = [thread for thread, _ in seen]
    assert len(threads) == len(set(threads)) >= 4
    assert {args for _, args in seen} == {(1, 2)}


def test_a_failed_initializer_breaks_the_executor(caplog):
    begun = threading.Event()

    def initialize():
        begun.wait(60)
        raise ValueError("so")

    with caplog.at_level(logging.CRITICAL, "concurrent.futures"):
        executor = cmwq.Executor(initializer=initialize)
        futures = [executor.submit(int) for _ in range(50)]
        begun.set()
        for future in futures:
            with pytest.raises(cmwq.BrokenExecutor):
                future.result(60)
        with pytest.raises(cmwq.BrokenExecutor):
            executor.submit(int)
        executor.shutdown()
    assert "Exception in initializer" in caplog.text


def test_threads_have_names():
    with cmwq.Executor() as executor:
        assert executor.submit(lambda: threading.current_thread().name).result().startswith("cmwq/")
        assert executor.submit(lambda: len(executor._threads)).result() >= 1
    assert not executor._threads


def test_repr():
    executor = cmwq.Executor("pages", max_active=3)
    assert repr(executor) == "<Executor 'pages', max_active=3>"
    assert (executor.name, executor.max_active, executor._max_workers) == ("pages", 3, 3)
    executor.shutdown()
    assert repr(executor).endswith("(shut down)>")
    assert cmwq.Executor(ordered=True).max_active == 1


@pytest.mark.parametrize(
    ("kwargs", "error", "name"),
    [
        ({"name": 3}, TypeError, "name"),
        ({"name": "a\0b"}, ValueError, "name"),
        ({"max_active": 0}, ValueError, "max_active"),
        ({"max_active": -1}, ValueError, "max_active"),
        ({"max_active": 2049}, ValueError, "max_active"),
        ({"max_active": 10**30}, ValueError, "max_active"),
        ({"max_active": "8"}, TypeError, "max_active"),
        ({"max_active": 8.0}, TypeError, "max_active"),
        ({"max_active": True}, TypeError, "max_active"),
        ({"max_active": 2, "ordered": True}, ValueError, "max_active"),
        ({"nice": 20}, ValueError, "nice"),
        ({"nice": -21}, ValueError, "nice"),
        ({"nice": None}, TypeError, "nice"),
        ({"affinity_scope": "socket"}, ValueError, "affinity_scope"),
        ({"affinity_scope": 1}, TypeError, "affinity_scope"),
        ({"strict": 1}, TypeError, "strict"),
        ({"ordered": None}, TypeError, "ordered"),
        ({"initializer": 3}, TypeError, "initializer"),
        ({"initargs": 3}, TypeError, "initargs"),
        ({"max_workers": 3}, TypeError, "max_workers"),
    ],
)
def test_wrong_arguments_are_named(kwargs, error, name):
    with pytest.raises(error, match=rf"\b{name}\b"):
        cmwq.Executor(**kwargs)


def test_wrong_arguments_of_methods_are_named():
    with cmwq.Executor() as executor:
        with pytest.raises(ValueError, match="chunksize"):
            executor.map(int, [], chunksize=0)
        with pytest.raises(TypeError, match="chunksize"):
            executor.map(int, [], chunksize=None)
        with pytest.raises(ValueError, match="max_active"):
            executor.max_active = 0
        with pytest.raises(TypeError, match="max_active"):
            executor.max_active = None
        with pytest.raises(TypeError, match="callable"):
            executor.submit(None).result()


@pytest.mark.parametrize("scope", ["cpu", "smt", "cache_shard", "cache", "numa", "system"])
def test_queues_of_all_kinds(scope):
    for kwargs in ({"nice": 5}, {"strict": True}, {"max_active": 2}, {"ordered": True}):
        with cmwq.Executor("kind", affinity_scope=scope, **kwargs) as executor:
            assert list(executor.map(abs, [-1, 2])) == [1, 2]


def test_nice_threads():
    with cmwq.Executor(nice=7) as executor:
        nice = executor.submit(lambda: os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))
        assert nice.result() == min(os.getpriority(os.PRIO_PROCESS, 0) + 7, 19)


def test_threads_of_the_program_may_share_it():
    with cmwq.Executor() as executor:
        sums = []

        def submit():
            sums.append(sum(executor.map(abs, range(500))))

        threads = [threading.Thread(target=submit) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sums == [sum(range(500))] * 8


def test_calls_submit_calls():
    with cmwq.Executor() as executor:

        def tree(depth):
            if depth == 0:
                return 1
            branches = [executor.submit(tree, depth - 1) for _ in range(3)]
            return sum(branch.result() for branch in branches)

        assert executor.submit(tree, 5).result() == 3**5


def test_many_executors():
    executors = [cmwq.Executor() for _ in range(200)]
    futures = [executor.submit(pow, n, 2) for n, executor in enumerate(executors)]
    assert [future.result() for future in futures] == [n * n for n in range(200)]
    for executor in executors:
        executor.shutdown()


def test_stats_count():
    before = cmwq.stats()
    with cmwq.Executor() as executor:
        executor.submit(int).result()
    after = cmwq.stats()
    assert after["turns_started"] > before["turns_started"]
    assert after["cpus"] == cmwq.cpus() >= 1
    assert after["workers"] >= 1


def test_reports_say_nothing_of_a_busy_executor():
    status, out, err = script(
        """
        import cmwq, time
        with cmwq.Executor() as executor:
            list(executor.map(lambda n: sum(range(n)), [20_000] * 2_000))
            list(executor.map(time.sleep, [0.001] * 2_000))
        print("done")
        """
    )
    assert (status, out, err) == (0, "done\n", "")


def test_a_chunk_that_raises_cancels_the_rest_though_the_error_is_kept():
    begun = []

    def call(n):
        begun.append(n)
        if n == 0:
            raise KeyError(n)
        time.sleep(0.01)

    with cmwq.Executor(max_active=1) as executor:
        with pytest.raises(KeyError) as kept:
            list(executor.map(call, range(3000), chunksize=2))
    assert len(begun) < 1500
    assert kept.value.args == (0,)

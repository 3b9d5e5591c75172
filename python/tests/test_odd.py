"""Odd uses, one by one: what is wrong is said, and nobody hangs."""

import asyncio
import concurrent.futures
import copy
import dataclasses
import gc
import itertools
import pickle
import sys
import textwrap
import threading
import time
import weakref

import pytest

import cmwq
from cmwq import _cmwq
from test_exit import CHILD, run
from test_hostile import resident


@pytest.mark.parametrize(
    ("call", "error", "name"),
    [
        (lambda e: e.submit(None), TypeError, "fn"),
        (lambda e: e.submit("int", 1), TypeError, "fn"),
        (lambda e: e.submit(), TypeError, "fn"),
        (lambda e: e.map(None, [1]), TypeError, "fn"),
        (lambda e: e.map(int, 3), TypeError, "iterables"),
        (lambda e: e.map(pow, [1], None, chunksize=2), TypeError, "iterables"),
        (lambda e: e.map(int, [], timeout="1"), TypeError, "timeout"),
        (lambda e: e.map(int, [], timeout=True), TypeError, "timeout"),
        (lambda e: e.map(int, [], timeout=[1]), TypeError, "timeout"),
        (lambda e: e.map(int, [], timeout=float("nan")), ValueError, "timeout"),
        (lambda e: e.map(int, [], chunksize=-1), ValueError, "chunksize"),
        (lambda e: e.map(int, [], chunksize="2"), TypeError, "chunksize"),
        (lambda e: e.map(int, [], buffersize=0), (TypeError, ValueError), "buffersize"),
        (lambda e: e.map(int, [], workers=0), TypeError, "workers"),
        (lambda e: e.shutdown("no"), TypeError, "wait"),
        (lambda e: e.shutdown(wait=None), TypeError, "wait"),
        (lambda e: e.shutdown(cancel_futures=2), TypeError, "cancel_futures"),
        (lambda e: setattr(e, "max_active", 10**5000), ValueError, "max_active"),
        (lambda e: cmwq.Executor("\ud800"), ValueError, "name"),
        (lambda e: cmwq.Executor(max_active=10**5000), ValueError, "max_active"),
        (lambda e: cmwq.Executor(nice=2.5), TypeError, "nice"),
        (lambda e: cmwq.job(None, 1), TypeError, "fn"),
        (lambda e: cmwq.job(int, "x"), TypeError, "range"),
        (lambda e: cmwq.job(int, -1), ValueError, "range"),
        (lambda e: cmwq.job(int, 10**30), ValueError, "range"),
        (lambda e: cmwq.job(int, range(10**30)), ValueError, "range"),
        (lambda e: cmwq.job(int, 1, align=0), ValueError, "align"),
        (lambda e: cmwq.job(int, 1, min_chunk=None), TypeError, "min_chunk"),
        (lambda e: cmwq.job(int, 1, max_threads=0), ValueError, "max_threads"),
        (lambda e: cmwq.job(int, 1, nice=-1), ValueError, "nice"),
        (lambda e: cmwq.job(int, 1, adaptive_chunks=1), TypeError, "adaptive_chunks"),
        (lambda e: cmwq.job(int, 1, undo=1), TypeError, "undo"),
        (lambda e: cmwq.job(int, 1, progress=1), TypeError, "progress"),
    ],
)
def test_wrong_arguments_are_named_and_harm_nobody(call, error, name):
    with cmwq.Executor() as executor:
        with pytest.raises(error, match=rf"\b{name}\b"):
            call(executor)
        assert executor.submit(abs, -3).result() == 3


def test_timeouts_may_be_any_number():
    with cmwq.Executor() as executor:
        for timeout in (30, 30.5, 1e300, float("inf"), 1 << 80):
            assert list(executor.map(abs, [-1], timeout=timeout)) == [1]
        release = threading.Event()
        with pytest.raises(concurrent.futures.TimeoutError):
            list(executor.map(lambda _: release.wait(), [1], timeout=-1))
        release.set()


def test_waits_for_futures_time_out():
    release = threading.Event()
    with cmwq.Executor() as executor:
        futures = [executor.submit(int), executor.submit(release.wait)]
        futures[0].result()
        with pytest.raises(concurrent.futures.TimeoutError):
            futures[1].result(timeout=0.01)
        with pytest.raises(concurrent.futures.TimeoutError):
            list(concurrent.futures.as_completed(futures, timeout=0.01))
        done, pending = concurrent.futures.wait(futures, timeout=0.01)
        assert (done, pending) == ({futures[0]}, {futures[1]})
        assert not futures[1].cancel(), "it runs"
        release.set()


def test_an_iterable_is_asked_for_its_items_once_and_may_fail():
    def fails():
        yield 1
        raise LookupError("so")

    with cmwq.Executor() as executor:
        with pytest.raises(LookupError, match="so"):
            list(executor.map(abs, fails()))
        with pytest.raises(LookupError, match="so"):
            list(executor.map(abs, fails(), chunksize=2))


@pytest.mark.skipif(sys.version_info < (3, 14), reason="buffersize is new in Python 3.14")
def test_a_map_of_an_endless_iterable_with_a_buffer():
    with cmwq.Executor() as executor:
        got = executor.map(abs, itertools.count(), buffersize=3)
        assert list(itertools.islice(got, 100)) == list(range(100))


@dataclasses.dataclass(frozen=True)
class Frozen(Exception):
    """Refuses assignments, also that of a traceback."""

    number: int


class Hostile(Exception):
    def with_traceback(self, traceback):
        raise RuntimeError

    @property
    def __traceback__(self):
        raise RuntimeError


@pytest.mark.parametrize("error", [Frozen(3), Hostile()])
def test_an_exception_that_forbids_things_reaches_its_future(error):
    def fails():
        raise error

    with cmwq.Executor() as executor:
        assert executor.submit(fails).exception(30) is error
        (result,) = [executor.submit(fails).exception(30)]
        assert result is error
        assert executor.submit(int).result(30) == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_future_that_somebody_else_has_ended_harms_nobody():
    with cmwq.Executor(max_active=1) as executor:
        release = threading.Event()
        first = executor.submit(release.wait)
        pending, later = executor.submit(int), executor.submit(abs, -2)
        pending.set_result("ours")
        release.set()
        assert first.result(30) and later.result(30) == 2
        assert pending.result() == "ours"


def test_an_exception_in_a_circle_is_collected():
    class Thing:
        pass

    def fails(thing):
        error = ValueError()
        error.own = error
        raise error

    with cmwq.Executor() as executor:
        thing = Thing()
        gone = weakref.ref(thing)
        future = executor.submit(fails, thing)
        assert isinstance(future.exception(30), ValueError)
        del thing, future
        executor.submit(int).result()
        deadline = time.monotonic() + 30
        while gone() is not None and time.monotonic() < deadline:
            gc.collect()
            time.sleep(0.001)
        assert gone() is None


def test_an_exception_that_is_kept_keeps_no_queue():
    def fails():
        raise ValueError

    kept = []
    # Threads may be about to leave queues of other tests.
    deadline = time.monotonic() + 30
    before = len(_cmwq.live_queues())
    for _ in range(20):
        executor = cmwq.Executor(initializer=int)
        kept.append(executor.submit(fails).exception(30))
        executor.shutdown()
        del executor
    while len(_cmwq.live_queues()) > before and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.01)
    assert len(_cmwq.live_queues()) <= before
    assert len(kept) == 20


def kept_by(make):
    """Bytes that the process has grown by, with the errors of many calls kept."""

    def fails(n):
        raise ValueError(n)

    with make() as executor:
        executor.submit(int).result()
        before = resident()
        futures = [executor.submit(fails, n) for n in range(10_000)]
        errors = [future.exception().args[0] for future in futures]
    assert errors == list(range(10_000))
    return resident() - before


def test_errors_that_are_kept_take_no_more_memory_than_those_of_a_fixed_pool():
    kept_by(cmwq.Executor)
    theirs = kept_by(lambda: concurrent.futures.ThreadPoolExecutor(2))
    assert kept_by(cmwq.Executor) <= theirs + (16 << 20)


def test_an_executor_cannot_be_pickled_or_copied():
    with cmwq.Executor() as executor:
        for copied in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot pickle 'Executor' object"):
                copied(executor)


def test_a_submit_in_the_middle_of_the_first_one():
    """As a handler of a signal or a destructor may do."""
    text = """
        import cmwq
        class Executor(cmwq.Executor):
            def _serve(self):
                if not futures:
                    futures.append(None)
                    futures.append(self.submit(abs, -1))
                return super()._serve()
        futures = []
        with Executor() as executor:
            futures.append(executor.submit(abs, -2))
        print([future.result() for future in futures[1:]])
    """
    assert run(text) == (0, "[1, 2]\n", "")


def test_a_shutdown_in_the_middle_of_the_first_submit():
    text = """
        import cmwq
        class Executor(cmwq.Executor):
            def _serve(self):
                self.shutdown()
                return super()._serve()
        try:
            Executor().submit(abs, -2)
        except RuntimeError as error:
            print(error)
    """
    assert run(text) == (0, "cannot schedule new futures after shutdown\n", "")


def test_a_handler_of_a_signal_may_submit_and_shut_down():
    text = """
        import cmwq, itertools, signal
        made = []
        def handler(*_):
            with cmwq.Executor() as executor:
                made.append(executor.submit(abs, -1))
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
        for n in itertools.count():
            with cmwq.Executor() as executor:
                executor.submit(int)
            if n >= 100 and len(made) >= 20:
                break
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(all(future.result() == 1 for future in made))
    """
    assert run(text) == (0, "True\n", "")


def test_destructors_and_callbacks_may_submit():
    with cmwq.Executor() as executor:
        made, begun = [], threading.Semaphore(0)

        class Thing:
            def __init__(self):
                self.own = self

            def __del__(self):
                made.append(executor.submit(abs, -1))
                begun.release()

        def call(_):
            Thing()
            gc.collect()

        list(executor.map(call, range(50)))
        del call
        gc.collect()
        for _ in range(50):
            assert begun.acquire(timeout=30)
        chained = concurrent.futures.Future()
        first = executor.submit(int)

        def again(future):
            executor.submit(abs, -7).add_done_callback(lambda done: chained.set_result(done.result()))

        first.add_done_callback(again)
        assert chained.result(30) == 7
        assert all(future.result(30) == 1 for future in made)


def test_a_call_that_submits_during_a_shutdown_is_told():
    executor = cmwq.Executor()
    begun, closed = threading.Event(), threading.Event()

    def late():
        begun.set()
        closed.wait(30)
        return executor.submit(int)

    future = executor.submit(late)
    assert begun.wait(30)
    executor.shutdown(wait=False)
    closed.set()
    with pytest.raises(RuntimeError, match="after shutdown"):
        future.result(30)


def test_what_is_submitted_too_late_is_refused():
    text = """
        import atexit, cmwq
        executor = cmwq.Executor()
        def late(where):
            for pool in executor, cmwq.Executor():
                try:
                    pool.submit(int)
                except RuntimeError as error:
                    print(where, error)
        class Thing:
            def __del__(self, late=late):
                late("destructor")
        thing = Thing()
        thing.own = thing
        atexit.register(late, "atexit")
        executor.submit(int)
    """
    line = "cannot schedule new futures after interpreter shutdown\n"
    status, out, err = run(text)
    assert status == 0, err
    assert out.startswith(f"atexit {line}atexit {line}")


def test_a_job_in_the_last_destructor_ends():
    """No helper could attach any more, and the job would wait for it."""
    text = """
        import cmwq, os, time
        # Helpers are there.
        cmwq.job(lambda part: time.sleep(0.001), 100)
        class Thing:
            def __del__(self, job=cmwq.job, sleep=time.sleep, write=os.write):
                write(1, b"%d" % job(lambda part: sleep(0.001), 100).helpers)
        thing = Thing()
    """
    status, out, err = run(text)
    assert (status, out) == (0, "0"), err


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        ("SystemExit", 0, ""),
        ("SystemExit(7)", 7, ""),
        ("SystemExit('so')", 1, "so"),
        ("ValueError('so')", 1, "ValueError: so"),
        ("KeyboardInterrupt", 1, "KeyboardInterrupt"),
    ],
)
def test_a_child_of_a_call_ends_with_what_the_call_raises(raised, status, said):
    text = f"""
        def call():
            child = os.fork()
            if child == 0:
                raise {raised}
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(executor.submit(call).result())
    """
    ended, out, err = run(textwrap.dedent(CHILD) + textwrap.dedent(text))
    assert (ended, out) == (0, f"{status}\n"), err
    assert said in err and (said or not err)


def test_threads_that_are_there_follow_settrace():
    """Threads stay for minutes, so they may be older than a debugger."""
    seen = set()

    def tracer(frame, event, arg):
        seen.add(frame.f_code.co_name)

    def traced():
        pass

    def untraced():
        pass

    with cmwq.Executor(max_active=1) as executor:
        executor.submit(int).result()
    threading.settrace(tracer)
    try:
        with cmwq.Executor(max_active=1) as executor:
            executor.submit(traced).result()
    finally:
        threading.settrace(None)
    with cmwq.Executor(max_active=1) as executor:
        executor.submit(untraced).result()
    assert "traced" in seen and "untraced" not in seen


def test_a_loop_of_asyncio_may_close_while_calls_run():
    executor, release = cmwq.Executor(), threading.Event()
    loop = asyncio.new_event_loop()
    future = loop.run_in_executor(executor, release.wait)
    loop.set_default_executor(executor)
    loop.close()
    assert not future.done()
    release.set()
    executor.shutdown()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(int)


def test_executors_within_calls_of_executors():
    def nested(depth):
        if depth == 0:
            return 1
        with cmwq.Executor() as executor:
            return sum(executor.map(nested, [depth - 1] * 2))

    with cmwq.Executor() as executor:
        assert executor.submit(nested, 4).result(60) == 16


def test_a_hint_that_nobody_ends_does_not_outlive_its_call():
    """The generator is left in the middle of it."""
    text = """
        import cmwq, time
        def hints():
            with cmwq.blocking():
                yield
        kept = []
        def call(_):
            kept.append(hints())
            next(kept[-1])
        def compute():
            begin = cmwq.stats()["runnable_ns"]
            end = time.thread_time() + 0.2
            while time.thread_time() < end:
                pass
            return cmwq.stats()["runnable_ns"] - begin
        # All in one turn. Who counts as blocked for ever does not count as one that computes.
        with cmwq.Executor(max_active=1) as executor:
            calls = [executor.submit(call, n) for n in range(10)]
            print(executor.submit(compute).result() > 0.1e9)
    """
    assert run(text) == (0, "True\n", "")


@pytest.mark.parametrize("interval", [1e-6, 0.5])
def test_any_switch_interval_will_do(interval):
    text = f"""
        import cmwq, sys, threading, time
        sys.setswitchinterval({interval})
        over = threading.Event()
        def compute():
            while not over.is_set():
                sum(range(1000))
        with cmwq.Executor() as executor:
            executor.submit(compute)
            waits = [executor.submit(time.sleep, 0.01) for _ in range(20)]
            for wait in waits:
                wait.result()
            over.set()
        print("done")
    """
    assert run(text) == (0, "done\n", "")

"""What programs do that nobody planned for."""

import contextvars
import gc
import pathlib
import signal
import sys
import textwrap
import threading
import weakref

import pytest

import cmwq
from test_exit import interrupt, run, start

HAS_LOCK = getattr(sys, "_is_gil_enabled", lambda: True)()


@pytest.mark.parametrize("leave", ["list(pages)", "pass"])
def test_ctrl_c_in_map_and_in_the_end_of_a_block(leave):
    text = f"""
        import cmwq, time
        try:
            with cmwq.Executor() as executor:
                pages = executor.map(lambda n: time.sleep(1) or print("ended\\n", end=""), range(2))
                print("waits")
                {leave}
        except KeyboardInterrupt:
            print("interrupted")
    """
    status, out, err = interrupt(start(text), "waits\n")
    # The block waits for its calls on the way out, as with ThreadPoolExecutor, unless that is what
    # was interrupted. They are made in any case.
    assert sorted(out.split()) == ["ended", "ended", "interrupted"]
    assert (status, err) == (0, "")


def test_what_is_cancelled_at_exit_is_not_made():
    text = """
        import atexit, cmwq, threading
        begun, release = threading.Event(), threading.Event()
        executor = cmwq.Executor(max_active=1)
        first = executor.submit(lambda: begun.set() or release.wait() and print("first"))
        rest = [executor.submit(print, "never") for _ in range(100)]
        begun.wait()
        executor.shutdown(wait=False, cancel_futures=True)
        print(all(future.cancelled() for future in rest))
        release.set()
    """
    assert run(text) == (0, "True\nfirst\n", "")


def test_a_module_that_is_gone_at_exit_harms_nobody():
    text = """
        import cmwq, sys
        executor = cmwq.Executor()
        futures = [executor.submit(pow, n, 2) for n in range(1000)]
        del sys.modules["cmwq"], sys.modules["cmwq._executor"], cmwq, executor
        print(sum(future.result() for future in futures))
    """
    assert run(text) == (0, f"{sum(n * n for n in range(1000))}\n", "")


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_processes_of_each_kind_while_calls_run(method, tmp_path):
    program = """
        import cmwq, multiprocessing, threading, warnings

        def child(queue):
            with cmwq.Executor() as executor:
                queue.put(sum(executor.map(abs, range(-100, 0))))

        if __name__ == "__main__":
            warnings.simplefilter("ignore")
            context = multiprocessing.get_context(%r)
            release = threading.Event()
            with cmwq.Executor() as executor:
                waiting = [executor.submit(release.wait) for _ in range(20)]
                queue = context.Queue()
                processes = [context.Process(target=child, args=(queue,)) for _ in range(3)]
                for process in processes:
                    process.start()
                print([queue.get(timeout=60) for _ in processes])
                for process in processes:
                    process.join()
                print([process.exitcode for process in processes])
                release.set()
                print(all(future.result() for future in waiting))
    """
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program) % method)
    text = f"import runpy, sys; sys.argv[0] = {str(path)!r}; runpy.run_path(sys.argv[0], run_name='__main__')"
    if method != "fork":
        # The child imports the program by its path.
        text = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, {str(path)!r}]))"
    assert run(text) == (0, "[5050, 5050, 5050]\n[0, 0, 0]\nTrue\n", "")


def test_calls_see_the_context_that_they_are_given():
    variable = contextvars.ContextVar("variable", default="none")
    with cmwq.Executor() as executor:
        variable.set("submitter's")
        assert executor.submit(variable.get).result() == executor.submit(variable.get).result()
        context = contextvars.copy_context()
        assert executor.submit(context.run, variable.get).result() == "submitter's"
        executor.submit(variable.set, "another call's").result()
        assert variable.get() == "submitter's"


def test_calls_that_raise_in_a_deep_recursion_end_alone():
    def deep(n):
        return 1 + deep(n + 1)

    with cmwq.Executor() as executor:
        futures = [executor.submit(deep, 0) for _ in range(20)]
        for future in futures:
            with pytest.raises(RecursionError):
                future.result(60)
        assert executor.submit(int).result() == 0


def resident():
    """Bytes of memory that the process has in use."""
    pages = pathlib.Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


def grows(executor, calls):
    """Bytes by which the process has grown after so many calls of each kind."""

    class Call:
        alive = 0

        def __init__(self):
            Call.alive += 1

        def __del__(self):
            Call.alive -= 1

        def __call__(self, n):
            if n % 5 == 0:
                raise ValueError(n)
            return self

    def some(count):
        for _ in range(count // 1000):
            futures = [executor.submit(Call(), n) for n in range(1000)]
            assert sum(future.exception() is None for future in futures) == 800
            del futures

    some(calls // 10)
    gc.collect()
    before = resident()
    some(calls)
    executor.submit(int).result()
    gc.collect()
    # The thread may be about to leave the last call.
    assert Call.alive <= 10
    return resident() - before


def test_memory_is_flat():
    with cmwq.Executor() as executor:
        assert grows(executor, 100_000) < 8 << 20


def test_executors_come_and_go():
    before = None
    for round in range(600):
        executor = cmwq.Executor(initializer=int)
        assert executor.submit(int).result() == 0
        gone = weakref.ref(executor)
        if round % 2:
            executor.shutdown()
        del executor
        if round == 199:
            before = resident()
    assert gone() is None
    assert resident() - before < 8 << 20


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the interpreter does not say it")
def test_a_subinterpreter_is_refused_with_a_word():
    text = """
        try:
            import _interpreters as interpreters
        except ModuleNotFoundError:
            import _xxsubinterpreters as interpreters
        one = interpreters.create()
        script = "try:\\n import cmwq\\nexcept ImportError as error: print(type(error).__name__)"
        interpreters.run_string(one, script)
        interpreters.destroy(one)
    """
    status, out, err = run(text)
    assert (status, out) == (0, "ImportError\n"), err


def test_a_huge_map_in_chunks_needs_little_memory():
    """Chunks keep small what `map` submits."""
    with cmwq.Executor() as executor:
        before = resident()
        total = sum(executor.map(abs, range(-300_000, 0), chunksize=5_000))
        assert total == sum(range(300_001))
        assert resident() - before < 64 << 20


def test_a_submit_of_each_thread_and_a_shutdown_race():
    """A call is made, cancelled or refused: no future is forgotten."""
    for _ in range(4):
        executor = cmwq.Executor()
        futures, refused = [], []

        def submit():
            try:
                while True:
                    futures.append(executor.submit(int))
            except RuntimeError:
                refused.append(1)

        threads = [threading.Thread(target=submit) for _ in range(4)]
        for thread in threads:
            thread.start()
        executor.submit(int).result()
        executor.shutdown(cancel_futures=True)
        for thread in threads:
            thread.join()
        assert len(refused) == 4
        assert all(future.done() for future in futures)


@pytest.mark.skipif(HAS_LOCK, reason="the other one gives its lock back now and then")
def test_a_call_that_computes_for_ever_does_not_outlive_ctrl_c():
    text = """
        import cmwq
        def forever():
            while True:
                sum(range(100))
        cmwq.Executor().submit(forever)
        print("ends")
    """
    process = start(text)
    assert process.stdout.readline() == "ends\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0

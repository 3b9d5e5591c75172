"""Ends of programs: exit, signals, fork."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import cmwq


def start(text):
    # Python warns of forks of any program with threads.
    warns = "ignore::DeprecationWarning"
    command = [sys.executable, "-u", "-W", warns, "-c", textwrap.dedent(text)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=heed_ctrl_c)


def heed_ctrl_c():
    """Tests that run in the background of a script ignore Ctrl-C, and so would their programs."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run(text):
    """Status and output of a program, which ends by itself."""
    process = start(text)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_pending_calls_are_made_at_exit():
    text = """
        import cmwq, time
        executor = cmwq.Executor()
        for n in range(100):
            executor.submit(lambda: time.sleep(0.01) or print("x", end=""))
    """
    assert run(text) == (0, "x" * 100, "")


def test_pending_calls_without_an_owner_are_made_at_exit():
    text = """
        import cmwq, time
        for n in range(20):
            cmwq.Executor().submit(lambda: time.sleep(0.05) or print("x", end=""))
    """
    assert run(text) == (0, "x" * 20, "")


def test_no_call_is_accepted_at_exit():
    text = """
        import cmwq, time
        executor = cmwq.Executor()
        def late():
            time.sleep(0.2)
            for pool in executor, cmwq.Executor():
                try:
                    pool.submit(int)
                except RuntimeError as error:
                    print(error)
        executor.submit(late)
    """
    line = "cannot schedule new futures after interpreter shutdown\n"
    assert run(text) == (0, line * 2, "")


def test_nothing_happens_where_nothing_was_submitted():
    text = """
        import cmwq, os
        executor = cmwq.Executor()
        print(len(os.listdir("/proc/self/task")))
    """
    assert run(text) == (0, "1\n", "")


def test_the_status_is_the_program_s():
    text = """
        import cmwq, sys
        cmwq.Executor().submit(int)
        sys.exit(3)
    """
    assert run(text) == (3, "", "")


def test_an_exception_of_the_program_does_not_hang():
    text = """
        import cmwq, time
        executor = cmwq.Executor()
        executor.submit(time.sleep, 0.1)
        raise ValueError("so")
    """
    status, out, err = run(text)
    assert (status, out) == (1, "")
    assert "ValueError: so" in err


def interrupt(process, line):
    assert process.stdout.readline() == line
    # It may be at the wait, or shortly before.
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err


def test_ctrl_c_ends_a_wait_for_a_result():
    text = """
        import cmwq, time
        executor = cmwq.Executor()
        future = executor.submit(time.sleep, 1)
        print("waits")
        future.result()
    """
    status, out, err = interrupt(start(text), "waits\n")
    assert "KeyboardInterrupt" in err
    assert status == -signal.SIGINT


def test_ctrl_c_ends_shutdown_and_the_call_goes_on():
    text = """
        import cmwq, time
        executor = cmwq.Executor()
        executor.submit(lambda: time.sleep(1) or print("ended"))
        try:
            print("waits")
            executor.shutdown()
        except KeyboardInterrupt:
            print("interrupted")
    """
    assert interrupt(start(text), "waits\n") == (0, "interrupted\nended\n", "")


FOREVER = ["time.sleep(0.01)", "lock.acquire(timeout=1)"]
if getattr(sys, "_is_gil_enabled", lambda: True)():
    # Without the lock, Python 3.13 waits for such a thread for ever, also with ThreadPoolExecutor.
    FOREVER.append("sum(range(100))")


@pytest.mark.parametrize("call", FOREVER)
def test_a_call_that_never_ends_keeps_the_program_until_ctrl_c(call):
    text = f"""
        import cmwq, threading, time
        lock = threading.Lock()
        lock.acquire()
        def forever():
            while True:
                {call}
        executor = cmwq.Executor()
        for _ in range(5):
            executor.submit(forever)
        print("ends")
    """
    process = start(text)
    assert process.stdout.readline() == "ends\n"
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    # As with ThreadPoolExecutor: the program had ended, so its status is what it was.
    assert (process.returncode, out) == (0, "")


CHILD = """
    import cmwq, os, threading, time

    def in_child(body):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                body()
                status = 0
            finally:
                os._exit(status)
        return os.waitpid(child, 0)[1]

    executor = cmwq.Executor()
"""


def run_forking(text):
    return run(textwrap.dedent(CHILD) + textwrap.dedent(text))


def test_a_forked_child_can_use_the_executor():
    text = """
        assert executor.submit(int).result() == 0
        def child():
            assert list(executor.map(abs, range(-9, 0))) == list(range(9, 0, -1))
            with cmwq.Executor() as other:
                assert other.submit(int).result() == 0
            executor.shutdown()
        for _ in range(3):
            assert in_child(child) == 0
        print(executor.submit(abs, -3).result())
    """
    assert run_forking(text) == (0, "3\n", "")


# Several times: what a worker of the parent is at just then differs.
@pytest.mark.parametrize("attempt", range(8))
def test_fork_in_the_middle(attempt):
    text = """
        made = []
        futures = [executor.submit(lambda n=n: time.sleep(0.001) or made.append(n)) for n in range(500)]
        def child():
            before = len(made)
            assert executor.submit(abs, -5).result() == 5
            list(executor.map(abs, range(100)))
            assert len(made) == before, "the parent's calls are the parent's"
            # Nobody hangs who waits for one, whatever a thread of the pool was at with it.
            failed = [future for future in futures if future.exception()]
            assert all(isinstance(future.exception(), cmwq.BrokenExecutor) for future in failed)
            executor.shutdown()
        for _ in range(5):
            assert in_child(child) == 0
        for future in futures:
            future.result()
        print(sorted(made) == list(range(500)))
    """
    assert run_forking(text) == (0, "True\n", "")


def test_a_child_does_not_wait_for_a_call_that_the_parent_completes():
    text = """
        holds, release = threading.Event(), threading.Event()
        future = None
        def call():
            # As in the middle of its completion.
            with future._condition:
                holds.set()
                release.wait()
            return 3
        done, running = executor.submit(int), executor.submit(release.wait)
        done.result()
        go = threading.Event()
        future = executor.submit(lambda: go.wait() and call())
        go.set()
        holds.wait()
        def child():
            assert done.result() == 0
            for parents in future, running:
                assert isinstance(parents.exception(), cmwq.BrokenExecutor), parents
        print(in_child(child))
        release.set()
        print(future.result(), running.result())
    """
    assert run_forking(text) == (0, "0\n3 True\n", "")


def test_a_child_does_not_wait_for_calls_of_executors_without_an_owner():
    text = """
        release = threading.Event()
        futures = [cmwq.Executor(ordered=True).submit(release.wait)]
        owned = cmwq.Executor(ordered=True)
        futures += [owned.submit(release.wait), owned.submit(int)]
        del owned
        def child():
            for future in futures:
                assert isinstance(future.exception(), cmwq.BrokenExecutor), future
        print(in_child(child))
        release.set()
        print([future.result() for future in futures])
    """
    assert run_forking(text) == (0, "0\n[True, True, 0]\n", "")


def test_a_child_goes_on_to_wait_for_several_futures():
    text = """
        from concurrent.futures import as_completed, wait
        release = threading.Event()
        ordered = cmwq.Executor(ordered=True)
        running, waiting, cancelled = [ordered.submit(release.wait) for _ in range(3)]
        cancelled.cancel()
        done = executor.submit(int)
        done.result()
        futures = [running, waiting, cancelled, done]
        those = as_completed(futures)
        assert next(those) is done
        def child():
            assert set(those) == {running, waiting, cancelled}
            assert set(as_completed(futures)) == set(futures)
            assert wait(futures).done == set(futures)
            assert cancelled.cancelled()
        print(in_child(child))
        release.set()
        assert set(those) == {running, waiting, cancelled}
        print(waiting.result(), cancelled.cancelled())
    """
    assert run_forking(text) == (0, "0\nTrue True\n", "")


def test_a_child_of_a_call_ends_it_for_itself_alone():
    text = """
        from concurrent.futures import as_completed
        called, forks = [], threading.Event()
        def call():
            forks.wait()
            child = os.fork()
            if child == 0:
                return None
            return os.waitpid(child, 0)[1]
        future = executor.submit(call)
        future.add_done_callback(lambda future: called.append(os.write(1, b"called\\n")))
        those = as_completed([future])
        # As a thread of the parent that asks for it just then.
        waiter = threading.Thread(target=lambda: [future.result() for future in those])
        waiter.start()
        with future._condition:
            forks.set()
            time.sleep(0.3)
        waiter.join()
        print(future.result())
    """
    assert run_forking(text) == (0, "called\n0\n", "")


def test_a_fork_while_a_shutdown_cancels():
    text = """
        release = threading.Event()
        ordered = cmwq.Executor(ordered=True)
        running = ordered.submit(release.wait)
        first, second = ordered.submit(int), ordered.submit(int)
        cancels, go = threading.Event(), threading.Event()
        first.add_done_callback(lambda future: cancels.set() or go.wait())
        closing = threading.Thread(target=lambda: ordered.shutdown(cancel_futures=True))
        closing.start()
        cancels.wait()
        def child():
            assert first.cancelled()
            assert isinstance(second.exception(), cmwq.BrokenExecutor)
        print(in_child(child))
        go.set()
        release.set()
        closing.join()
        print(second.cancelled())
    """
    assert run_forking(text) == (0, "0\nTrue\n", "")


def test_what_a_call_leaves_may_wait_for_the_next_call():
    text = """
        class Waits:
            def __del__(self):
                release.set()
                ended.append(following.result(timeout=30))
        ended = []
        begin, release = threading.Event(), threading.Event()
        limited = cmwq.Executor(max_active=2)
        def call():
            begin.wait()
            return Waits()
        limited.submit(call)
        limited.submit(release.wait)
        following = limited.submit(abs, -3)
        begin.set()
        limited.shutdown()
        print(ended)
    """
    assert run_forking(text) == (0, "[3]\n", "")


def test_a_child_ends_without_the_parent_s_calls():
    text = """
        import sys
        release = threading.Event()
        for _ in range(10):
            executor.submit(release.wait)
        child = os.fork()
        if child == 0:
            sys.exit(7)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        release.set()
        print(status)
    """
    assert run_forking(text) == (0, "7\n", "")


def test_a_call_may_fork():
    text = """
        def call():
            return in_child(lambda: executor.submit(int).result())
        print(executor.submit(call).result())
        def child_returns():
            child = os.fork()
            return os.waitpid(child, 0)[1] if child else print("child", flush=True)
        print(executor.submit(child_returns).result())
    """
    status, out, err = run_forking(text)
    assert (status, out, err) == (0, "0\nchild\n0\n", "")


def test_processes_of_multiprocessing_may_use_it():
    text = """
        import multiprocessing
        executor.submit(int).result()
        context = multiprocessing.get_context("fork")
        def child(queue):
            queue.put(sum(executor.map(abs, range(-10, 0))))
        queue = context.Queue()
        process = context.Process(target=child, args=(queue,))
        process.start()
        print(queue.get(timeout=30))
        process.join()
        print(process.exitcode)
    """
    assert run_forking(text) == (0, "55\n0\n", "")


def test_here_too():
    with cmwq.Executor() as executor:
        assert os.getpid() == executor.submit(os.getpid).result()


def test_a_thread_that_a_call_starts_ends_before_the_program():
    text = """
        import cmwq, threading, time
        def work():
            time.sleep(0.2)
            print("done")
        def call():
            thread = threading.Thread(target=work)
            thread.start()
            return thread.daemon
        print(cmwq.Executor().submit(call).result())
    """
    assert run(text) == (0, "False\ndone\n", "")


@pytest.mark.parametrize("way", ["subprocess", "fork", "forkserver"])
def test_a_process_that_a_call_starts_hears_of_signals(way):
    text = f"""
        import cmwq, multiprocessing, subprocess, sys, time
        def child():
            time.sleep(30)
        def call():
            if {way!r} == "subprocess":
                process = subprocess.Popen(["sleep", "30"])
                process.terminate()
                return process.wait(20)
            process = multiprocessing.get_context({way!r}).Process(target=child)
            process.start()
            process.terminate()
            process.join(20)
            return process.exitcode
        if __name__ == "__main__":
            print(cmwq.Executor().submit(call).result())
    """
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"cmwq-test-{os.getpid()}-{way}.py")
    try:
        with open(path, "w") as file:
            file.write(textwrap.dedent(text))
        command = [sys.executable, "-W", "ignore::DeprecationWarning", path]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    finally:
        os.unlink(path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "-15\n", "")


@pytest.mark.parametrize("first", ["executor", "job"])
def test_threads_have_the_stack_that_was_asked_for(first):
    text = f"""
        import cmwq, sys, threading
        threading.stack_size(64 << 20)
        sys.setrecursionlimit(10**6)
        if {first!r} == "job":
            cmwq.job(lambda part: None, 10)
        class Deep:
            def __init__(self, depth):
                self.depth = depth
            def __repr__(self):
                return repr(Deep(self.depth - 1)) if self.depth else "x"
        print(cmwq.Executor().submit(repr, Deep(15000)).result())
    """
    assert run(text) == (0, "x\n", "")


def test_the_first_call_says_so_if_there_is_no_thread():
    if os.getuid() != 0:
        pytest.skip("the user may have other processes")
    text = """
        import cmwq, os, resource
        os.setgid(65534)
        os.setuid(65534)
        old = resource.getrlimit(resource.RLIMIT_NPROC)
        resource.setrlimit(resource.RLIMIT_NPROC, (1, old[1]))
        executor = cmwq.Executor()
        try:
            executor.submit(int)
        except RuntimeError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_NPROC, old)
        print(executor.submit(int).result())
    """
    status, out, err = run(text)
    assert (status, err) == (0, "")
    assert out.startswith("cannot start: ") and out.endswith("\n0\n")

"""Runs CPython's own tests of ThreadPoolExecutor, of the interpreter's test package, on ours.

    python tests/cpython.py

Lists what failed, with the reason if it is one that we know. The status is 1 if anything failed
for another reason, or if nothing ran. With a name, runs the tests whose names end with it.
"""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap
import unittest

#: Executed first in each process. Theirs has a number of threads, which is our limit.
STAND_IN = """
import concurrent.futures, concurrent.futures.thread, cmwq

class ThreadPoolExecutor(cmwq.Executor):
    def __init__(self, max_workers=None, thread_name_prefix="", initializer=None, initargs=()):
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        super().__init__(
            thread_name_prefix or None, max_workers, initializer=initializer, initargs=initargs
        )

concurrent.futures.ThreadPoolExecutor = ThreadPoolExecutor
concurrent.futures.thread.ThreadPoolExecutor = ThreadPoolExecutor
"""

NO_SIZE = "there is no number of threads"
SHARED = "threads belong to all executors: they have no names of their own and do not end with one"
COUNTS = "it counts threads right after submit; ours start when a CPU would idle"

#: Tests that ask for what a pool of a fixed size is, by the end of their names.
KNOWN = {
    "ThreadPoolExecutorTest.test_default_workers": NO_SIZE,
    "ThreadPoolExecutorTest.test_saturation": COUNTS,
    "ThreadPoolExecutorTest.test_idle_thread_reuse": COUNTS,
    "ThreadPoolShutdownTest.test_threads_terminate": COUNTS,
    "ThreadPoolShutdownTest.test_thread_names_assigned": SHARED,
    "ThreadPoolShutdownTest.test_thread_names_default": SHARED,
}

#: Where the tests are from 3.12 on, and before.
MODULES = [
    f"test.test_concurrent_futures.{name}"
    for name in ("test_as_completed", "test_init", "test_shutdown", "test_thread_pool", "test_wait")
]
OLD_MODULE = "test.test_concurrent_futures"


#: Seconds for a test that we expect to fail: some of those leave calls behind that never end.
PATIENCE = 20


def main() -> int:
    from test import support
    from test.support import script_helper

    support.use_resources = ["cpu", "walltime"]
    exec(STAND_IN, {})
    in_scripts(script_helper)
    wanted = sys.argv[1:]
    every = list(tests())
    known = [] if wanted else sorted({name(test) for test in every} & KNOWN.keys())
    if wanted:
        chosen = [test for test in every if name(test) in wanted]
    else:
        chosen = [test for test in every if name(test) not in KNOWN]
    print(f"{len(chosen) + len(known)} tests of Python {sys.version}", flush=True)
    result = unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite(chosen))
    if wanted:
        return int(not result.wasSuccessful())
    return report(result, [(test, passes_alone(test)) for test in known])


def name(test: unittest.TestCase) -> str:
    return ".".join(test.id().split(".")[-2:])


def passes_alone(test: str) -> bool:
    command = [sys.executable, __file__, test]
    try:
        return subprocess.run(command, capture_output=True, timeout=PATIENCE).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def in_scripts(script_helper) -> None:
    """Scripts that the tests run begin with the stand-in, too."""
    run = script_helper.run_python_until_end

    def run_ours(*args, **env):
        args = list(args)
        if "-c" in args:
            code = args.index("-c") + 1
            args[code] = STAND_IN + textwrap.dedent(args[code])
        return run(*args, **env)

    script_helper.run_python_until_end = run_ours


def tests():
    for module in modules():
        for test in flatten(unittest.defaultTestLoader.loadTestsFromModule(module)):
            name = type(test).__name__
            if name.startswith("ThreadPool"):
                yield test


def modules():
    try:
        return [importlib.import_module(name) for name in MODULES]
    except ModuleNotFoundError:
        return [importlib.import_module(OLD_MODULE)]


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flatten(test)
        else:
            yield test


def report(result: unittest.TestResult, known: list[tuple[str, bool]]) -> int:
    unknown = [test.id() for test, _ in result.failures + result.errors]
    failed = [(test, KNOWN[test]) for test, passed in known if not passed]
    failed += [(test, "for an UNKNOWN REASON") for test in unknown]
    total = result.testsRun + len(known)
    print(f"\n{total - len(failed) - len(result.skipped)} passed, {len(failed)} failed")
    for test, why in result.skipped:
        print(f"skipped {test.id()}: {why}")
    for test, why in failed:
        print(f"failed {test}: {why}")
    return int(bool(unknown) or result.testsRun == 0)


if __name__ == "__main__":
    sys.exit(main())

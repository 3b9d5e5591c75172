"""CPython's own tests, where the interpreter has them."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest


def has_tests():
    try:
        return importlib.util.find_spec("test.test_concurrent_futures") is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.skipif(not has_tests(), reason="this interpreter comes without its test package")
def test_cpython_s_own_tests_of_thread_pools():
    command = [sys.executable, pathlib.Path(__file__).parent / "cpython.py"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=540)
    print(done.stdout, done.stderr)
    assert done.returncode == 0

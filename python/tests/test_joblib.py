"""The joblib backend."""

import threading

import pytest

joblib = pytest.importorskip("joblib")

import cmwq.joblib  # noqa: E402

cmwq.joblib.register()


def test_results_in_order():
    with joblib.parallel_config(backend="cmwq"):
        got = joblib.Parallel()(joblib.delayed(pow)(n, 2) for n in range(500))
    assert got == [n * n for n in range(500)]


def test_waiting_tasks_run_side_by_side():
    barrier = threading.Barrier(50)
    with joblib.parallel_config(backend="cmwq"):
        got = joblib.Parallel()(joblib.delayed(barrier.wait)(60) for _ in range(50))
    assert sorted(got) == list(range(50))


def test_n_jobs_is_a_limit():
    lock, running, most = threading.Lock(), 0, 0
    pause = threading.Event()

    def call():
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        pause.wait(0.002)
        with lock:
            running -= 1

    with joblib.parallel_config(backend="cmwq", n_jobs=3):
        joblib.Parallel()(joblib.delayed(call)() for _ in range(60))
    assert 2 <= most <= 3


def test_errors_end_it():
    with joblib.parallel_config(backend="cmwq"):
        with pytest.raises(ZeroDivisionError):
            joblib.Parallel()(joblib.delayed(divmod)(1, n % 7) for n in range(500))


def test_nested():
    def outer(n):
        return sum(joblib.Parallel()(joblib.delayed(abs)(-k) for k in range(n)))

    with joblib.parallel_config(backend="cmwq"):
        got = joblib.Parallel()(joblib.delayed(outer)(n) for n in range(20))
    assert got == [sum(range(n)) for n in range(20)]


def test_one_job_and_none():
    with joblib.parallel_config(backend="cmwq", n_jobs=1):
        assert joblib.Parallel()(joblib.delayed(abs)(-n) for n in range(3)) == [0, 1, 2]
    with joblib.parallel_config(backend="cmwq", n_jobs=0), pytest.raises(ValueError, match="n_jobs"):
        joblib.Parallel()(joblib.delayed(abs)(-n) for n in range(3))

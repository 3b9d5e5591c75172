"""Multithreaded jobs."""

import threading
import time

import pytest

import cmwq


def covered(parts, whole):
    return sorted(unit for part in parts for unit in part) == sorted(whole)


@pytest.mark.parametrize(
    "whole", [range(0), range(1), range(1000), range(5, 1000, 3), range(100, 0, -1)]
)
@pytest.mark.parametrize("adaptive", [False, True])
def test_each_unit_is_in_one_call(whole, adaptive):
    parts = []
    stats = cmwq.job(parts.append, whole, adaptive_chunks=adaptive)
    assert covered(parts, whole)
    assert isinstance(stats, cmwq.JobStats)


def test_a_number_is_a_range():
    parts = []
    cmwq.job(parts.append, 100, align=10, min_chunk=10, max_threads=1)
    assert covered(parts, range(100))
    assert all(part.start % 10 == 0 and len(part) >= 10 for part in parts)


def test_helpers_help():
    if cmwq.cpus() < 2:
        pytest.skip("needs two CPUs")
    caller, helped = threading.get_ident(), threading.Event()

    def wait_for_help(part):
        if threading.get_ident() != caller:
            helped.set()
        else:
            time.sleep(0.001 * len(part))

    for _ in range(100):
        cmwq.job(wait_for_help, 300)
        if helped.is_set():
            break
    assert helped.is_set()


def test_the_first_error_ends_it_and_is_undone():
    done, undone = [], []

    def fails(part):
        if 700 in part:
            raise ValueError("so")
        done.append(part)

    with pytest.raises(ValueError, match="so"):
        cmwq.job(fails, range(1000), undo=undone.append)
    units = [unit for part in undone for unit in part]
    assert units == sorted(unit for part in done for unit in part)


def test_progress():
    seen = []
    cmwq.job(lambda part: None, 1000, progress=lambda done, size: seen.append((done, size)))
    assert seen[-1] == (1000, 1000)
    with pytest.raises(ZeroDivisionError):
        cmwq.job(lambda part: None, 1000, progress=lambda done, size: 1 // 0)


def test_jobs_in_tasks_and_tasks_in_jobs():
    with cmwq.Executor() as executor:

        def sums(n):
            total = []
            cmwq.job(lambda part: total.append(sum(part)), n)
            return sum(total)

        assert list(executor.map(sums, [100] * 20)) == [sum(range(100))] * 20
        parts = []
        cmwq.job(lambda part: parts.append(executor.submit(len, part).result()), 10)
        assert sum(parts) == 10


@pytest.mark.parametrize(
    ("args", "kwargs", "error", "name"),
    [
        ((None, 3), {}, TypeError, "fn"),
        ((print, "x"), {}, TypeError, "range"),
        ((print, -1), {}, ValueError, "range"),
        ((print, 3), {"align": 0}, ValueError, "align"),
        ((print, 3), {"min_chunk": 1.5}, TypeError, "min_chunk"),
        ((print, 3), {"max_threads": 0}, ValueError, "max_threads"),
        ((print, 3), {"nice": 20}, ValueError, "nice"),
        ((print, 3), {"adaptive_chunks": 1}, TypeError, "adaptive_chunks"),
        ((print, 3), {"undo": 1}, TypeError, "undo"),
        ((print, 3), {"progress": 1}, TypeError, "progress"),
    ],
)
def test_wrong_arguments_are_named(args, kwargs, error, name):
    with pytest.raises(error, match=rf"\b{name}\b"):
        cmwq.job(*args, **kwargs)

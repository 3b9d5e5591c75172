"""What others see of a Python process: `cmwq top`, where the command is built or installed."""

import functools
import json
import os
import pathlib
import shutil
import subprocess
import threading
import time

import pytest

import cmwq


def command():
    root = pathlib.Path(__file__).parents[2]
    built = [root / "target" / profile / "cmwq" for profile in ("debug", "release")]
    there = [path for path in built if path.exists()]
    # An older one may not know the layout of the page.
    newest = max(there, key=lambda path: path.stat().st_mtime, default=None)
    return str(newest) if newest else shutil.which("cmwq")


needs_command = pytest.mark.skipif(command() is None, reason="the command cmwq is not built")


def seen():
    """What the busy workers of this process do: queue and description of each."""
    look = [command(), "top", "--once", "--json", str(os.getpid())]
    done = subprocess.run(look, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    pools = json.loads(done.stdout)["process"]["pools"]
    workers = [worker for pool in pools for worker in pool["busy"]]
    return sorted((worker["queue_name"], worker["desc"]) for worker in workers)


class Site:
    def __init__(self, release):
        self.release = release

    def crawl(self):
        self.release.wait()

    def __call__(self):
        self.release.wait()


def wait_for(release, _=None):
    release.wait()


@needs_command
def test_top_shows_queues_and_names_of_functions():
    release = threading.Event()
    with cmwq.Executor("pages") as pages, cmwq.Executor("sites") as sites:
        pages.submit(int).result()
        pages.submit(wait_for, release)
        pages.submit(functools.partial(wait_for, release))
        pages.map(wait_for, [release], chunksize=2)
        sites.submit(Site(release).crawl)
        sites.submit(Site(release))
        sites.submit(lambda: release.wait())
        expected = sorted(
            [("pages", "wait_for")] * 3
            + [
                ("sites", "Site"),
                ("sites", "Site.crawl"),
                ("sites", "test_top_shows_queues_and_names_of_functions.<locals>.<lambda>"),
            ]
        )
        try:
            deadline = time.monotonic() + 60
            while (found := seen()) != expected and time.monotonic() < deadline:
                time.sleep(0.05)
        finally:
            release.set()
    assert found == expected


@needs_command
def test_a_name_is_that_of_the_call_that_runs():
    """One thread makes call after call in one turn."""
    with cmwq.Executor("turn", ordered=True) as executor:
        for name in ("first", "second"):
            release, begun = threading.Event(), threading.Event()

            def call(begun=begun, release=release):
                begun.set()
                release.wait()

            call.__qualname__ = name
            executor.submit(call)
            assert begun.wait(60)
            try:
                assert seen() == [("turn", name)]
            finally:
                release.set()

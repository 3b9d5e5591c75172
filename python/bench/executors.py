"""Compares our executor with ThreadPoolExecutor; medians of rounds whose executors take turns.

    python bench/executors.py [--rounds 7] [--raw FILE] [--only NAME ...]

Prints seconds, ratios and peaks of threads. A ratio above the bound is marked as a loss, and the
status is then 1. Each executor of each round has a process of its own, so that nobody finds the
threads of the one before. `--raw` appends a line of JSON for each of them.
"""

import argparse
import asyncio
import http.server
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import cmwq


class Peak:
    """Seconds, CPU seconds and the most threads while it is entered, the watcher not counted."""

    def __enter__(self):
        self.most, self.over = 0, threading.Event()
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        self.begin, self.cpu = time.perf_counter(), time.process_time()
        return self

    def watch(self):
        while not self.over.wait(0.005):
            self.most = max(self.most, len(os.listdir("/proc/self/task")) - 1)

    def __exit__(self, *exception):
        self.seconds = time.perf_counter() - self.begin
        self.cpu = time.process_time() - self.cpu
        self.over.set()
        self.watcher.join()


def nothing():
    pass


def empty(executor, _):
    for future in [executor.submit(nothing) for _ in range(20_000)]:
        future.result()


def burn(_):
    count = 0
    for number in range(1_000_000):
        count += number
    return count


def compute(executor, _):
    list(executor.map(burn, range(20)))


def sleeps(count, seconds):
    return lambda executor, _: list(executor.map(time.sleep, [seconds] * count))


class Slow(http.server.BaseHTTPRequestHandler):
    """Answers after 10 to 100 ms."""

    def do_GET(self):
        time.sleep(random.uniform(0.01, 0.1))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"page")

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    """In a process of its own: it is not to share the interpreter's lock."""

    # A short line of connections would have the kernel send them again, seconds later.
    request_queue_size = 1024

    @classmethod
    def serve(cls):
        server = cls(("127.0.0.1", 0), Slow)
        print(server.server_port, flush=True)
        server.serve_forever()


def fetch(url):
    try:
        import requests
    except ModuleNotFoundError:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return answer.read()
    return requests.get(url, timeout=30).content


def fetches(executor, url):
    assert set(executor.map(fetch, [url] * 200)) == {b"page"}


def sorts(executor, _):
    import numpy

    # numpy sorts with the interpreter's lock released.
    source = numpy.random.default_rng(1).random(300_000)
    list(executor.map(lambda _: numpy.sort(source), range(40)))


def groups(executor, _):
    """Some milliseconds with the lock, then some without, as a job over tables has."""
    import numpy

    source = numpy.random.default_rng(1).random(300_000)

    def group(_):
        words = [str(number) for number in range(10_000)]
        return len(words) + numpy.sort(source)[0]

    list(executor.map(group, range(40)))


def beside_one_that_computes(executor, _):
    """Whoever comes back from a wait has to wait for the lock."""
    over = threading.Event()

    def compute():
        while not over.is_set():
            burn_for(0.001)

    executor.submit(compute)
    for future in [executor.submit(time.sleep, 0.05) for _ in range(200)]:
        future.result()
    over.set()


def burn_for(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def compute_and_wait(executor, _):
    def call(_):
        burn_for(0.001)
        time.sleep(0.05)

    list(executor.map(call, range(200)))


def to_threads(executor, _):
    async def main():
        if isinstance(executor, cmwq.Executor):
            asyncio.get_running_loop().set_default_executor(executor)
        await asyncio.gather(*[asyncio.to_thread(time.sleep, 0.5) for _ in range(50)])

    asyncio.run(main())


#: Not `cmwq.cpus()`, which begins threads, in the processes of others too.
CPUS = len(os.sched_getaffinity(0))
#: What is compared with which sizes of ThreadPoolExecutor, 0 for its default, and the ratio of
#: times up to which it is no loss.
CASES = {
    "20 calls that compute in Python": (compute, [CPUS], 1.05),
    "20,000 empty calls": (empty, [0, CPUS], 1.0),
    "40 sorts by numpy": (sorts, [0, CPUS], 1.05),
    "40 calls, Python and numpy in turns": (groups, [0, CPUS], 1.05),
    "50 calls of 500 ms": (sleeps(50, 0.5), [0], 1.0),
    "50 times asyncio.to_thread of 500 ms": (to_threads, [0], 1.0),
    "200 requests of 10 to 100 ms": (fetches, [0, 200], 1.05),
    "200 calls, 1 ms of Python and 50 ms of waiting": (compute_and_wait, [0, 200], 1.05),
    "200 waits of 50 ms beside a call that computes": (beside_one_that_computes, [200], 1.05),
    "1,000 calls of 50 ms": (sleeps(1000, 0.05), [8, 32, 128, 1000], 1.05),
}


def one(case, size, url):
    """In a process of its own: one executor, once."""
    run = CASES[case][0]
    if run in (sorts, groups):
        import numpy  # noqa: F401  before the clock runs
    make = cmwq.Executor if size < 0 else lambda: ThreadPoolExecutor(size or None)
    with make() as executor:
        # Threads, canaries and all that the first call needs are part of it.
        with Peak() as peak:
            run(executor, url)
    print(json.dumps({"seconds": peak.seconds, "cpu": peak.cpu, "threads": peak.most}))


def measure(case, size, url):
    command = [sys.executable, __file__, "--one", case, str(size), url]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def median(results, key):
    return statistics.median(result[key] for result in results)


def shown(results):
    most = max(result["threads"] for result in results)
    low, high = (of(result["seconds"] for result in results) for of in (min, max))
    return f"{median(results, 'seconds'):.3f} s ({low:.3f} to {high:.3f}), {most} threads"


def compare(case, rounds, url, raw):
    """False: a loss."""
    _, peers, bound = CASES[case]
    results = {size: [] for size in [-1, *peers]}
    for _ in range(rounds):
        for size, own in results.items():
            own.append(measure(case, size, url))
            if raw:
                line = {"python": sys.version.split()[0], "case": case, "size": size, **own[-1]}
                raw.write(json.dumps(line) + "\n")
    print(f"\n{case}: cmwq {shown(results[-1])}", flush=True)
    won = True
    for size in peers:
        ratio = median(results[-1], "seconds") / median(results[size], "seconds")
        won &= ratio <= bound
        verdict = "" if ratio <= bound else f"  LOSS, the bound is {bound}"
        print(f"  ThreadPoolExecutor({size or ''}): {shown(results[size])}: {ratio:.2f}{verdict}")
    return won


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--raw", type=pathlib.Path, help="appends each round as a line of JSON")
    parser.add_argument("--only", nargs="*", default=[], help="parts of names of cases")
    options = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, {CPUS} CPUs, medians of {options.rounds}")
    names = [name for name in CASES if not options.only or any(part in name for part in options.only)]
    raw = options.raw and options.raw.open("a")
    command = [sys.executable, __file__, "--server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/"
        try:
            won = [compare(name, options.rounds, url, raw) for name in names]
        finally:
            server.terminate()
    return int(not all(won))


if __name__ == "__main__":
    if sys.argv[1:] == ["--server"]:
        Server.serve()
    elif sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        sys.exit(main())

"""Compares our executor with ThreadPoolExecutor, in one run; medians of several rounds.

    python bench/executors.py [rounds]

Prints times, ratios and peaks of threads. A ratio above 1 is our loss.
"""

import asyncio
import http.server
import os
import random
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import cmwq


def threads():
    return len(os.listdir("/proc/self/task"))


class Peak:
    """Seconds and the most threads while it is entered, the watcher not counted."""

    def __enter__(self):
        self.most, self.over = 0, threading.Event()
        self.watcher = threading.Thread(target=self.watch)
        self.watcher.start()
        self.begin = time.perf_counter()
        return self

    def watch(self):
        while not self.over.wait(0.005):
            self.most = max(self.most, threads() - 1)

    def __exit__(self, *exception):
        self.seconds = time.perf_counter() - self.begin
        self.over.set()
        self.watcher.join()


def nothing():
    pass


def empty(executor):
    for future in [executor.submit(nothing) for _ in range(20_000)]:
        future.result()


def burn(_):
    count = 0
    for number in range(1_000_000):
        count += number
    return count


def compute(executor):
    list(executor.map(burn, range(20)))


def sleeps(count, seconds):
    def run(executor):
        list(executor.map(time.sleep, [seconds] * count))

    return run


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


def requests(url):
    def run(executor):
        assert set(executor.map(fetch, [url] * 200)) == {b"page"}

    def fetch(url):
        try:
            import requests

            return requests.get(url, timeout=30).content
        except ModuleNotFoundError:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return answer.read()

    return run


def arrays(executor):
    import numpy

    # numpy sorts with the interpreter's lock released.
    source = numpy.random.default_rng(1).random(300_000)
    list(executor.map(lambda _: numpy.sort(source), range(40)))


def to_threads(executor):
    async def main():
        if executor is not None:
            asyncio.get_running_loop().set_default_executor(executor)
        await asyncio.gather(*[asyncio.to_thread(time.sleep, 0.5) for _ in range(50)])

    asyncio.run(main())


def compare(what, run, peers, rounds):
    """The peers' rounds and ours alternate. Each has a new process's threads only once."""
    makers = {"cmwq": cmwq.Executor, **peers}
    seconds = {name: [] for name in makers}
    peaks = {name: 0 for name in makers}
    for _ in range(rounds):
        for name, make in makers.items():
            with make() as executor, Peak() as peak:
                run(executor)
            seconds[name].append(peak.seconds)
            peaks[name] = max(peaks[name], peak.most)
    ours = statistics.median(seconds["cmwq"])
    print(f"\n{what}: cmwq {ours:.3f} s, {peaks['cmwq']} threads", flush=True)
    for name in peers:
        theirs = statistics.median(seconds[name])
        print(f"  beside {name}: {theirs:.3f} s, {peaks[name]} threads: {ours / theirs:.2f}")


def main(rounds):
    cpus = cmwq.cpus()
    print(f"Python {sys.version.split()[0]}, {cpus} CPUs, medians of {rounds}")
    default = {"ThreadPoolExecutor()": ThreadPoolExecutor}
    per_cpu = {f"ThreadPoolExecutor({cpus})": lambda: ThreadPoolExecutor(cpus)}
    # The workers of cmwq stay: what shall not have many threads comes first.
    compare("20 items that compute in Python", compute, per_cpu, rounds)
    compare("20,000 empty items", empty, {**default, **per_cpu}, rounds)
    try:
        compare("40 sorts of numpy", arrays, {**default, **per_cpu}, rounds)
    except ModuleNotFoundError:
        print("\nnumpy is not installed")
    compare("50 calls of 500 ms", sleeps(50, 0.5), default, rounds)
    begin = time.perf_counter()
    to_threads(None)
    theirs = time.perf_counter() - begin
    begin = time.perf_counter()
    to_threads(cmwq.Executor("asyncio"))
    ours = time.perf_counter() - begin
    print(f"\n50 times asyncio.to_thread of 500 ms: {ours:.3f} s, with asyncio's own {theirs:.3f} s")
    command = [sys.executable, __file__, "--server"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/"
        compare("200 requests to a server that takes 10 to 100 ms", requests(url), default, rounds)
        server.terminate()
    pools = {
        f"ThreadPoolExecutor({n})": lambda n=n: ThreadPoolExecutor(n) for n in (8, 32, 128, 1000)
    }
    compare("1,000 calls of 50 ms", sleeps(1000, 0.05), pools, rounds)


if __name__ == "__main__":
    if sys.argv[1:] == ["--server"]:
        Server.serve()
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)

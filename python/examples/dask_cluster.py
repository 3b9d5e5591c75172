"""A Dask scheduler and two workers on this machine, whose tasks run on cmwq.

    python examples/dask_cluster.py [--own] [--kill]

Makes small files of numbers, and sums them up in tasks that wait as if a slow disk had the files.
Prints the sum, and how long it took. --own leaves the workers their own executor, to compare with.
--kill kills one of the workers in the middle: the other one does its tasks.
"""

import contextlib
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from dask.distributed import Client

FILES = 120
WAIT = 0.25


def make(folder):
    """The files, and the sum of the numbers in them."""
    files = [folder / f"{n}.txt" for n in range(FILES)]
    for n, file in enumerate(files):
        file.write_text("\n".join(str(n * k) for k in range(100)))
    return files, sum(n * k for n in range(FILES) for k in range(100))


def read(file):
    """One task."""
    time.sleep(WAIT)
    return sum(int(line) for line in pathlib.Path(file).read_text().split())


@contextlib.contextmanager
def started(*command):
    """A process of Dask, ended afterwards, and the address that it says."""
    command = [sys.executable, "-m", "distributed.cli." + command[0], *command[1:]]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        for line in process.stderr:
            if found := re.search(r"(?:Scheduler|Start worker) at: *(tcp://\S+)", line):
                break
        else:
            raise RuntimeError(f"{command} ended")
        # Nobody reads the rest.
        subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
        yield process, found[1]
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def main(own=False, kill=False):
    scheduler = ("dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    preload = () if own else ("--preload", "cmwq.dask")
    options = ("--host", "127.0.0.1", "--no-nanny", "--no-dashboard", *preload)
    with contextlib.ExitStack() as stack:
        files, expected = make(pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory())))
        _, address = stack.enter_context(started(*scheduler))
        workers = [
            stack.enter_context(started("dask_worker", address, *options, "--name", name))
            for name in ("first", "second")
        ]
        client = stack.enter_context(Client(address))
        client.wait_for_workers(2)
        begin = time.monotonic()
        parts = client.map(read, [str(file) for file in files])
        total = client.submit(sum, parts)
        if kill:
            time.sleep(WAIT / 2)
            workers[0][0].kill()
        result = total.result()
        seconds = time.monotonic() - begin
        print(f"sum {result} in {seconds:.2f} s", flush=True)
        if result != expected:
            raise SystemExit(f"it should be {expected}")
        return seconds


if __name__ == "__main__":
    main(own="--own" in sys.argv, kill="--kill" in sys.argv)

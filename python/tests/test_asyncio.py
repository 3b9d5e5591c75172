"""asyncio: run_in_executor, to_thread, the default executor of a loop."""

import asyncio
import contextvars
import threading
import time

import pytest

import cmwq


def thread_name():
    return threading.current_thread().name


def test_run_in_executor():
    async def main():
        with cmwq.Executor() as executor:
            loop = asyncio.get_running_loop()
            calls = [loop.run_in_executor(executor, pow, n, 2) for n in range(100)]
            assert await asyncio.gather(*calls) == [n * n for n in range(100)]
            with pytest.raises(ZeroDivisionError):
                await loop.run_in_executor(executor, divmod, 1, 0)

    asyncio.run(main())


def test_the_default_executor_of_a_loop():
    variable = contextvars.ContextVar("variable", default=0)

    async def main():
        asyncio.get_running_loop().set_default_executor(cmwq.Executor("asyncio"))
        assert (await asyncio.to_thread(thread_name)).startswith("cmwq/")
        variable.set(3)
        assert await asyncio.to_thread(variable.get) == 3
        barrier = threading.Barrier(60)
        waits = [asyncio.to_thread(barrier.wait, 60) for _ in range(60)]
        assert sorted(await asyncio.gather(*waits)) == list(range(60))

    # Shuts the executor down, too.
    asyncio.run(main())


def test_a_cancelled_wait_leaves_the_executor_usable():
    async def main():
        release = threading.Event()
        with cmwq.Executor(max_active=1) as executor:
            loop = asyncio.get_running_loop()
            first = loop.run_in_executor(executor, release.wait)
            second = loop.run_in_executor(executor, time.sleep, 100)
            await asyncio.sleep(0.01)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            # The loop tells the executor in its next round.
            await asyncio.sleep(0.01)
            release.set()
            assert await first
            assert await loop.run_in_executor(executor, int) == 0

    asyncio.run(main())

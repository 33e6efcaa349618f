"""A call of steps, run by a thread and by a loop: both do the same."""

import asyncio
import time

import pytest

from frazil.system.steps import run, run_async


def in_a_thread(call):
    return run(call(lambda answer: answer))


def in_a_loop(call):
    async def later(answer):
        await asyncio.sleep(0)
        return answer

    return asyncio.run(run_async(call(later)))


@pytest.fixture(params=[in_a_thread, in_a_loop])
def ran(request):
    return request.param


def test_a_call_is_sent_the_result_of_a_step(ran):
    def call(done):
        one = yield lambda: done(1)
        several = yield [other(done, n) for n in (2, 3)]
        before = time.monotonic()
        yield 0.05
        assert time.monotonic() - before > 0.04
        return [one, *several]

    def other(done, n):
        return (yield lambda: done(n))

    assert ran(call) == [1, 2, 3]


def test_a_call_is_thrown_the_error_of_a_step(ran):
    def call(done):
        try:
            yield lambda: done(1 // 0)
        except ZeroDivisionError as error:
            found = str(error)
        yield lambda: done(found)
        raise ValueError(found)

    with pytest.raises(ValueError, match="division"):
        ran(call)


def test_a_cancelled_call_is_thrown_that():
    found = []

    def call():
        try:
            yield 60.0
        except asyncio.CancelledError as error:
            found.append(error)
            raise

    async def main():
        task = asyncio.create_task(run_async(call()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert found

"""The asyncio client against a real arcpd."""
import asyncio
import gc
import subprocess
import sys
import threading
import time
import warnings
from functools import wraps

import pytest

import libarcp
from conftest import TOKEN, descriptors, memory
from libarcp._session import Session


def on_a_loop(test):
    """Runs a test that is a coroutine; a task that goes on waiting fails it."""

    @wraps(test)
    def run(*arguments, **named):
        asyncio.run(asyncio.wait_for(test(*arguments, **named), 60))

    return run


async def fails(status, waited, kind=libarcp.Error):
    with pytest.raises(kind) as caught:
        await waited
    assert caught.value.status == status
    return caught.value


# ---- ways that work ----


@on_a_loop
async def test_run(daemon):
    assert await libarcp.run_async(daemon.url, TOKEN, "worker", {"a": 1}) == {"a": 1}


@on_a_loop
async def test_events_come_in_order_and_end(daemon):
    async with libarcp.AsyncClient(daemon.url, TOKEN) as client:
        job = await client.submit("worker", {"do": "count", "to": 300})
        logs = [event.body["message"] async for event in job if event.kind == "log" and event.job is job]
        assert logs == [str(number) for number in range(300)]
        assert await job.next_event() is None and job.outcome.result == 300
        assert await job.result() == 300 and await job.wait() == job.outcome


@on_a_loop
async def test_many_jobs_at_once(daemon):
    async with libarcp.AsyncClient(daemon.url, TOKEN) as client:

        async def one(number):
            job = await client.submit("worker", {"do": "count", "to": number})
            return sum([event.kind == "log" async for event in job])

        assert await asyncio.gather(*map(one, range(20))) == list(range(20))


@on_a_loop
async def test_wait_beside_an_iteration_drops_nothing(daemon):
    async with libarcp.AsyncClient(daemon.url, TOKEN) as client:
        job = await client.submit("worker", {"do": "count", "to": 500})

        async def read():
            return [event async for event in job if event.kind == "log"]

        reading = asyncio.create_task(read())
        await asyncio.sleep(0)
        assert await job.result() == 500
        assert len(await reading) == 500


@on_a_loop
async def test_subscribe_list_and_cancel(daemon):
    async with libarcp.AsyncClient(daemon.url, TOKEN) as client, libarcp.AsyncClient(daemon.url, TOKEN) as observer:
        job = await client.submit("worker", {"do": "wait"})
        followed = await observer.subscribe(job.id, history=True)
        assert (await followed.next_event()).job is followed
        assert job.id in [row.job_id async for row in client.jobs(["running"], page_size=3)]
        await job.cancel("test")
        for one in (job, followed):
            await fails("CANCELLED", one.result(), libarcp.JobError)
        assert await client.ping() > 0 and "ack" in client.features and client.welcome
        followed.unsubscribe()


@on_a_loop
async def test_streamed_result(daemon, tmp_path):
    async with libarcp.AsyncClient(daemon.url, TOKEN) as client:
        job = await client.submit("worker", {"do": "stream", "pieces": 4})
        assert len(await job.result()) == 4000
        before = descriptors()
        with open(tmp_path / "result", "wb") as file:
            job = await client.submit("worker", {"do": "stream", "pieces": 4}, result_file=file, events=False)
        await job.wait()
        assert (tmp_path / "result").stat().st_size == 4000
        assert descriptors() == before


@on_a_loop
async def test_session_is_resumed_and_observed(daemon):
    first = libarcp.AsyncClient(daemon.url, TOKEN)
    await first.connect()
    job = await first.submit("worker", {"do": "wait"})
    await job.next_event()
    state = first.session_state
    await first.close()
    options = libarcp.Options(observe=True)
    async with libarcp.AsyncClient(daemon.url, TOKEN, resume=state, options=options) as second:
        async for event in second.events():
            if event.type == "added":
                break
        assert event.job.id == job.id
        await event.job.cancel()
        await fails("CANCELLED", event.job.result(), libarcp.JobError)


# ---- the loop is not blocked; cancellation ----


@on_a_loop
async def test_the_loop_goes_on_while_a_job_is_awaited(daemon):
    async with libarcp.AsyncClient(daemon.url, TOKEN) as client:
        job = await client.submit("worker", {"do": "wait"})
        waiting = asyncio.create_task(job.result())
        turns = 0
        for _ in range(100):
            await asyncio.sleep(0.001)
            turns += 1
        assert turns == 100 and not waiting.done()
        await job.cancel()
        await fails("CANCELLED", waiting, libarcp.JobError)


@on_a_loop
async def test_waiting_takes_no_processor_time(daemon):
    async with libarcp.AsyncClient(daemon.url, TOKEN) as client:
        job = await client.submit("worker", {"do": "wait"})
        waiting = asyncio.create_task(job.result())
        await asyncio.sleep(0.1)
        before = time.process_time()
        await asyncio.sleep(0.5)
        assert time.process_time() - before < 0.05
        await job.cancel()
        await fails("CANCELLED", waiting, libarcp.JobError)


@on_a_loop
async def test_cancelled_wait_leaves_the_job(daemon):
    async with libarcp.AsyncClient(daemon.url, TOKEN) as client:
        job = await client.submit("worker", {"do": "wait"})
        assert (await job.next_event()).kind == "status"
        assert (await job.next_event()).kind == "log"
        for wait in (job.result, job.next_event, job.wait):
            task = asyncio.create_task(wait())
            await asyncio.sleep(0.02)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert job.outcome is None
        await job.cancel()
        assert (await job.wait()).status == "cancelled"


@on_a_loop
async def test_cancelled_request_leaves_the_client(daemon):
    async with libarcp.AsyncClient(daemon.url, TOKEN) as client:
        for _ in range(20):
            task = asyncio.create_task(client.submit("hello"))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert await (await client.submit("worker", {"n": 1})).result() == {"n": 1}


@on_a_loop
async def test_cancelled_run_cancels_the_job(daemon):
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(libarcp.run_async(daemon.url, TOKEN, "worker", {"do": "wait"}), 0.3)
    async with libarcp.AsyncClient(daemon.url, TOKEN) as client:
        while [row async for row in client.jobs(["pending", "running"])]:
            await asyncio.sleep(0.02)


@on_a_loop
async def test_run_that_is_cancelled_before_its_job_is_accepted_cancels_the_job(daemon, monkeypatch):
    is_sent, submit = threading.Event(), Session.submit

    def slow(*arguments):
        handle = submit(*arguments)
        is_sent.set()
        time.sleep(0.2)
        return handle

    monkeypatch.setattr(Session, "submit", slow)
    task = asyncio.create_task(libarcp.run_async(daemon.url, TOKEN, "worker", {"do": "wait"}))
    while not is_sent.is_set():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async with libarcp.AsyncClient(daemon.url, TOKEN) as client:
        while [row async for row in client.jobs(["pending", "running"])]:
            await asyncio.sleep(0.02)


def test_cancelled_connect_leaves_nothing(silent_url, at_rest):
    async def connect():
        client = libarcp.AsyncClient(silent_url, options=libarcp.Options(connect_timeout=0.5))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.connect(), 0.05)

    asyncio.run(connect())
    assert at_rest()


@on_a_loop
async def test_closing_ends_what_waits(daemon):
    client = libarcp.AsyncClient(daemon.url, TOKEN)
    await client.connect()
    job = await client.submit("worker", {"do": "wait"}, max_runtime=1)
    await job.next_event()
    await job.next_event()
    reading = asyncio.create_task(job.next_event())
    waiting = asyncio.create_task((await client.submit("worker", {"do": "wait"}, max_runtime=1)).result())
    observing = asyncio.create_task(client.events().__anext__())
    await asyncio.sleep(0.02)
    await asyncio.gather(client.close(), client.close())
    await fails("CLOSED", reading)
    await fails("CLOSED", waiting)
    with pytest.raises(StopAsyncIteration):
        await observing
    await fails("CLOSED", client.submit("worker"))
    await fails("CLOSED", job.result())


@on_a_loop
async def test_close_that_is_cancelled_closes(daemon):
    client = libarcp.AsyncClient(daemon.url, TOKEN)
    await client.connect()
    task = asyncio.create_task(client.close())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await client.close()


# ---- errors ----


@on_a_loop
async def test_errors(daemon, closed_url, silent_url):
    await fails("IO", libarcp.AsyncClient(closed_url).connect())
    await fails("UNAUTHENTICATED", libarcp.run_async(daemon.url, "another token", "worker"))
    options = libarcp.Options(connect_timeout=0.1)
    await fails("DEADLINE", libarcp.AsyncClient(silent_url, options=options).connect(), libarcp.DeadlineError)
    await fails("USAGE", libarcp.AsyncClient(daemon.url).submit("worker"))
    async with libarcp.AsyncClient(daemon.url, TOKEN) as client:
        await fails("USAGE", client.connect())
        await fails("AGENT_NOT_AVAILABLE", client.submit("nobody"))
        await fails("JOB_NOT_FOUND", client.cancel("job_00000000000000000000000000"))
        await fails("JOB_NOT_FOUND", client.subscribe("job_00000000000000000000000000"))
        with pytest.raises(ValueError):
            await client.submit("worker", float("nan"))
        job = await client.submit("worker", {"do": "fail", "code": "TIMEOUT"})
        error = await fails("TIMEOUT", job.result(), libarcp.JobError)
        assert error.retryable and error.details["why"] == "test"


# ---- memory ----

SMALL = libarcp.Options(unread_bytes_max=64 << 10)


@on_a_loop
async def test_a_slow_reader_gets_everything(daemon):
    async with libarcp.AsyncClient(daemon.url, TOKEN, options=SMALL) as client:
        job = await client.submit("worker", {"do": "count", "to": 3000, "size": 1000})
        numbers = []
        async for event in job:
            if event.kind == "log":
                numbers.append(int(event.body["message"].rstrip("x")))
            assert client._unread < 512 << 10  # a batch beyond the limit at most
            if len(numbers) % 200 == 0:
                await asyncio.sleep(0.005)
        assert numbers == list(range(3000))


@on_a_loop
async def test_events_that_are_not_read_fail_other_waits(daemon):
    async with libarcp.AsyncClient(daemon.url, TOKEN, options=SMALL) as client:
        unread = await client.submit("worker", {"do": "count", "to": 3000, "size": 1000})
        waiting = await client.submit("worker", {"do": "wait"})
        await fails("LIMIT", waiting.result())
        # A job that is forgotten makes room.
        del unread
        gc.collect()
        await waiting.cancel()
        await fails("CANCELLED", waiting.result(), libarcp.JobError)


@on_a_loop
async def test_wait_drops_events(daemon):
    async with libarcp.AsyncClient(daemon.url, TOKEN, options=SMALL) as client:
        job = await client.submit("worker", {"do": "count", "to": 3000, "size": 1000})
        assert await job.result() == 3000 and client._unread == 0


def test_a_client_that_is_forgotten_ends(daemon, at_rest):
    async def forget():
        client = libarcp.AsyncClient(daemon.url, TOKEN)
        await client.connect()
        await client.submit("worker", {"do": "count", "to": 10})

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        asyncio.run(forget())
        gc.collect()
    assert [one.category for one in caught] == [ResourceWarning]
    caught.clear()  # the warning refers to the client
    assert at_rest()


def test_a_program_that_does_not_close_ends(daemon):
    program = f"""
import asyncio, libarcp
async def main():
    global client
    client = libarcp.AsyncClient({daemon.url!r}, {TOKEN!r})
    await client.connect()
    await client.submit("worker", {{"do": "count", "to": 10}})
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=30, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_leaks(daemon, at_rest):
    async def once():
        async with libarcp.AsyncClient(daemon.url, TOKEN) as client:
            job = await client.submit("worker", {"do": "count", "to": 100, "size": 100})
            async for _ in job:
                break
            await (await client.submit("hello")).result()
            await client.submit("hello")  # not read
            task = asyncio.create_task(client.ping())
            await asyncio.sleep(0)
            task.cancel()
            await fails("AGENT_NOT_AVAILABLE", client.submit("nobody"))

    def several(times):
        for _ in range(times):
            asyncio.run(once())

    several(10)
    assert at_rest()
    before = (descriptors(), memory())
    several(30)
    assert at_rest() and descriptors() == before[0]
    assert memory() - before[1] < 2 << 20

"""Submits over a connection that is cut again and again. Requests that a cut leaves unanswered are sent again with their
idempotency key; at the end each key has one job, each job its own result, and each event was received once and in order."""
import asyncio
import os

import arcp

from fixture import expect

STEPS = 60  # of each job
NAMES = [f"n{number}" for number in range(12)]


async def ask(client, name, key, jobs):
    job = await client.submit(agent="steps", input={"name": name, "steps": STEPS}, idempotency_key=key)
    jobs[name] = job.job_id


async def come_back(fixture, state):
    """Resumes the session until that works: handshakes are cut, too."""
    session_id, token = state
    while True:
        try:
            numbers = [frame["event_seq"] for frame in fixture.received() if frame.get("event_seq")]
            client = fixture.client()
            await client.resume(await fixture.transport(), resume=arcp.SessionResume(
                session_id=session_id, resume_token=token, last_event_seq=max(numbers, default=0)))
            return client
        except Exception as error:  # the SDK has no single exception for a closed connection
            expect(getattr(error, "code", None) not in ("RESUME_WINDOW_EXPIRED", "UNAUTHENTICATED"),
                   f"the resume was refused: {error}")
            await asyncio.sleep(0.02)


async def disturbance(fixture):
    keys = {name: os.urandom(8).hex() for name in NAMES}
    jobs, asked = {}, []  # the jobs of the names that were answered; tasks

    def is_done():
        ended = {frame["job_id"] for frame in fixture.received("job.result")}
        return all(jobs.get(name) in ended for name in NAMES)

    client = await fixture.connect()
    while not is_done():
        asked += [asyncio.ensure_future(ask(client, name, keys[name], jobs)) for name in NAMES if name not in jobs]
        while not (client._transport.is_closed or is_done()):
            await asyncio.sleep(0.005)
        if not is_done():
            client = await come_back(fixture, (client.session_id, client.welcome.resume_token))
    for task in asked:
        task.cancel()
    await asyncio.gather(*asked, return_exceptions=True)
    check(fixture, jobs)


def check(fixture, jobs):
    expect(len(set(jobs.values())) == len(NAMES), f"the keys have {len(set(jobs.values()))} jobs")
    numbers = [frame["event_seq"] for frame in fixture.received() if frame.get("event_seq")]
    expect(numbers == list(range(1, len(numbers) + 1)), f"the events' numbers were {numbers}")
    for name, job_id in jobs.items():
        ours = [frame for frame in fixture.received() if frame.get("job_id") == job_id]
        steps = [frame["payload"]["body"]["current"] for frame in ours if frame["payload"].get("kind") == "progress"]
        expect(steps == list(range(1, STEPS + 1)), f"{name}'s steps were {steps}")
        results = [frame["payload"]["result"] for frame in ours if frame["type"] == "job.result"]
        # A repeated submit of an ended job gets its end again: the client has forgotten it.
        expect(set(results) == {name}, f"{name} was answered with {results}")

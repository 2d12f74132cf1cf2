#!/usr/bin/env python3
"""The SDK's client through the scenarios of tests/interop.

    client.py URL TOKEN NAME SCENARIO...

NAME is the client's name. Prints for each scenario one line of JSON: its name,
whether it works, and if not why, with the last error, else the last frame, that came from the runtime.
"""
import asyncio
import json
import os
import sys
import tempfile
from datetime import datetime, timedelta, timezone

import arcp

from disturbance import disturbance
from recorder import Recorder, without_secrets
from fixture import Gap, Fixture, expect

DEADLINE_SEC = 8
RUNS = int(os.environ.get("INTEROP_RUNS", "1"))
PATIENCE_SEC = {"pipelining": 20 + RUNS / 4, "disturbance": 60}  # of scenarios that take longer
HEARTBEAT_SEC = 1  # of both runtimes


async def first(handle, kind, phase=None):
    """The body of the job's next event of this kind."""
    async for event in handle.events():
        if event["kind"] == kind and phase in (None, event["body"].get("phase")):
            return event["body"]
    raise Gap(f"the job ended without a {kind} event")


async def ending(handle):
    """(final status, error code): a job that ends badly is an exception or a result."""
    try:
        return (await handle.done).final_status, None
    except arcp.ARCPError as error:
        return None, error.code


async def expect_alive(client):
    """The session still works."""
    handle = await client.submit(agent="echo", input={"alive": True})
    expect((await handle.done).result == {"alive": True}, "the session does not go on")


async def expect_refused(request, code):
    try:
        await request
    except arcp.ARCPError as error:
        expect(error.code == code, f"refused as {error.code} instead of {code}: {error}")
    else:
        raise Gap(f"not refused as {code}")


# ---- scenarios ----


async def hello(fixture):
    client = await fixture.connect()
    expect(client.welcome.runtime.name, "the welcome names no runtime")
    expect("subscribe" in client.negotiated_features, "subscribe was not negotiated")
    agents = {agent.name: agent for agent in client.welcome.capabilities.agents}
    expect(agents["greet"].default == "2.0.0", "the inventory of agents has no default version")
    if not fixture.url.startswith("stdio:"):  # arcpd trusts the parent that starts it
        await expect_refused(fixture.connect(token="wrong"), "UNAUTHENTICATED")


async def submit(fixture):
    client = await fixture.connect()
    lease = {"fs.read": ["/srv/**"]}
    handle = await client.submit(agent="echo", input={"n": 1}, lease_request=lease)
    expect(handle.job_id and handle.agent_ref == "echo", f"accepted as {handle.agent_ref!r}")
    expect(handle.lease == lease, f"the lease became {handle.lease}")
    await handle.done


async def events(fixture):
    client = await fixture.connect()
    handle = await client.submit(agent="kinds", lease_request={"tool.call": ["*"]})
    seen = [event async for event in handle.events() if event["body"].get("phase") != "running"]
    await handle.done
    kinds = [event["kind"] for event in seen]
    expect(kinds == ["log", "thought", "tool_call", "tool_result", "status", "metric", "progress",
                     "artifact_ref", "x-vendor.acme.note"], f"the events were {kinds}")
    expect(seen[2]["body"]["args"] == {"q": "x"}, f"tool_call came as {seen[2]['body']}")
    expect(seen[5]["body"]["value"] == 12, f"metric came as {seen[5]['body']}")


async def result(fixture):
    client = await fixture.connect()
    value = {"text": "gr\u00fc\u00dfe \U0001f600\n", "nested": [1, -2.5, None, {"deep": [True]}]}
    handle = await client.submit(agent="echo", input=value)
    came = await handle.done
    expect(came.final_status == "success" and came.result == value, f"the result was {came.result}")


async def error(fixture):
    client = await fixture.connect()
    handle = await client.submit(agent="fails")
    status, code = await ending(handle)
    expect(code == "INVALID_REQUEST", f"the job ended as {status or code}")
    await expect_alive(client)


async def refusal(fixture):
    client = await fixture.connect()
    await expect_refused(client.submit(agent="nobody"), "AGENT_NOT_AVAILABLE")
    await expect_alive(client)


async def cancel(fixture):
    client = await fixture.connect()
    handle = await client.submit(agent="waits")
    await first(handle, "status", "waiting")
    await client.cancel_job(handle.job_id)
    end = await ending(handle)
    expect(end in [("cancelled", None), (None, "CANCELLED")], f"the job ended as {end}")
    await expect_alive(client)


async def deadline(fixture):
    client = await fixture.connect()
    handle = await client.submit(agent="waits", max_runtime_sec=1)
    end = await ending(handle)
    expect(end in [("timed_out", None), (None, "TIMEOUT")], f"the job ended as {end}")
    await expect_alive(client)


async def list_jobs(fixture):
    client = await fixture.connect()
    jobs = [await client.submit(agent="echo") for _ in range(3)]
    for job in jobs:
        await job.done
    listed, cursor = [], None
    while True:
        page = await client.list_jobs(filter=arcp.ListJobsFilter(agent="echo"), limit=2,
                                      cursor=cursor)
        listed += [row.job_id for row in page.jobs if row.status == "success"]
        cursor = page.next_cursor
        if cursor is None:
            break
    for job in jobs:
        expect(listed.count(job.job_id) == 1, f"{job.job_id} is listed {listed.count(job.job_id)} x")


async def subscribe(fixture):
    owner, observer = await fixture.connect(), await fixture.connect()
    job = await owner.submit(agent="gated", input={"gate": fixture.gate})
    await first(job, "progress")
    subscription = await observer.subscribe(job.job_id)
    fixture.open_gate()
    expect((await first(subscription.handle, "progress"))["current"] == 2, "not the next event")
    expect((await first(subscription.handle, "progress"))["current"] == 3, "not the last event")
    expect((await subscription.handle.done).result == "open", "not the job's result")
    await expect_alive(observer)


async def history(fixture):
    owner, observer = await fixture.connect(), await fixture.connect()
    job = await owner.submit(agent="gated", input={"gate": fixture.gate})
    await first(job, "progress")
    subscription = await observer.subscribe(job.job_id, history=True)
    expect(subscription.replayed, "nothing was replayed")
    expect((await first(subscription.handle, "progress"))["current"] == 1, "not the first event")
    fixture.open_gate()
    expect((await subscription.handle.done).result == "open", "not the job's result")


async def denied(fixture):
    client = await fixture.connect()
    absent = "job_01ARZ3NDEKTSV4RRFFQ69G5FAV"
    await expect_refused(client.subscribe(absent), "JOB_NOT_FOUND")
    job = await client.submit(agent="gated", input={"gate": fixture.gate})
    await first(job, "progress")
    # An error here makes the client fail its jobs, too: a runtime may leave this unanswered.
    asked = asyncio.ensure_future(client.subscribe(absent))
    await client.list_jobs()  # the requests before this one have been handled
    fixture.open_gate()
    expect((await job.done).result == "open", "not the job's result")
    asked.cancel()


async def drop(client, last_event_seq):
    """Cuts the connection; returns the state for a resume."""
    state = arcp.SessionResume(session_id=client.session_id, last_event_seq=last_event_seq,
                               resume_token=client.welcome.resume_token)
    await client._transport.close()
    return state


async def begin_and_drop(fixture, from_start):
    """A job that has sent events when its connection is cut: (job, state, the last event_seq)."""
    client = await fixture.connect()
    job = await client.submit(agent="gated", input={"gate": fixture.gate})
    await first(job, "progress")
    seq = fixture.received("job.event")[-1]["event_seq"]
    return job, await drop(client, 0 if from_start else seq), seq


async def resume(fixture):
    job, state, seq = await begin_and_drop(fixture, from_start=False)
    fixture.open_gate()
    client = fixture.client()
    await client.resume(await fixture.transport(), resume=state)
    expect(client.session_id == state.session_id, "resumed as another session")
    last = await fixture.wait_for("job.result", job.job_id)
    numbers = [frame["event_seq"] for frame in fixture.received() if frame.get("event_seq")]
    expect(numbers == list(range(1, seq + 4)), f"the events' numbers were {numbers}")
    expect(last["payload"]["result"] == "open", "not the job's result")


async def replay(fixture):
    job, state, seq = await begin_and_drop(fixture, from_start=True)
    client = fixture.client()
    fixture.frames.clear()
    await client.resume(await fixture.transport(), resume=state)
    while len(fixture.received("job.event")) < seq:
        await asyncio.sleep(0.01)
    numbers = [frame["event_seq"] for frame in fixture.received("job.event")]
    expect(numbers == list(range(1, seq + 1)), f"the events' numbers were {numbers}")
    fixture.open_gate()


async def ack(fixture):
    client = await fixture.connect()
    job = await client.submit(agent="gated", input={"gate": fixture.gate})
    await first(job, "progress")
    await client.ack(fixture.received("job.event")[-1]["event_seq"])
    fixture.open_gate()
    expect((await job.done).result == "open", "the job's result did not come")
    await expect_alive(client)


async def heartbeat(fixture):
    client = await fixture.connect()
    await asyncio.sleep(2.5 * HEARTBEAT_SEC)
    expect(fixture.received("session.ping"), "no ping came")
    await expect_alive(client)


async def idempotency(fixture):
    client = await fixture.connect()
    key = os.urandom(8).hex()
    one = await client.submit(agent="echo", input={"n": 1}, idempotency_key=key)
    expect((await one.done).result == {"n": 1}, "not the job's result")
    again = await client.submit(agent="echo", input={"n": 1}, idempotency_key=key)
    expect(again.job_id == one.job_id, "another job was started")
    expect((await again.done).result == {"n": 1}, "not the first job's result")
    await expect_refused(client.submit(agent="echo", input={"n": 2}, idempotency_key=key),
                         "DUPLICATE_KEY")
    await expect_alive(client)


async def budget(fixture):
    client = await fixture.connect()
    job = await client.submit(agent="spends", lease_request={"tool.call": ["*"],
                                                             "cost.budget": ["USD:1.00"]})
    expect("USD" in (job.budget or {}), f"accepted with the budget {job.budget}")
    status, code = await ending(job)
    expect(code == "BUDGET_EXHAUSTED", f"the job ended as {status or code}")
    metrics = [event["body"] async for event in job.events() if event["kind"] == "metric"]
    left = [body["value"] for body in metrics if body["name"] == "cost.budget.remaining"]
    expect(left and abs(left[-1] + 0.2) < 1e-9, f"what remained was reported as {left}")


async def expiry(fixture):
    client = await fixture.connect()
    soon = datetime.now(timezone.utc) + timedelta(seconds=1)
    expires_at = soon.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    job = await client.submit(agent="waits",
                              lease_constraints=arcp.LeaseConstraints(expires_at=expires_at))
    status, code = await ending(job)
    expect(code == "LEASE_EXPIRED", f"the job ended as {status or code}")
    await expect_alive(client)


async def delegation(fixture):
    client = await fixture.connect()
    job = await client.submit(agent="delegates", input={"n": 1},
                              lease_request={"agent.delegate": ["*"]})
    # Another submit, while the parent starts its child: each gets its own response.
    other = await client.submit(agent="echo", input={"n": 2})
    body = await first(job, "delegate")
    expect(body.get("child_job_id") and body.get("agent") == "echo", f"delegate came as {body}")
    expect((await job.done).result == {"n": 1}, "not the child's result")
    expect((await other.done).result == {"n": 2}, "the other submit got another job's answer")


async def chunks(fixture, agent="chunks"):
    client = await fixture.connect()
    job = await client.submit(agent=agent)
    whole = b"one two \xff three"
    came = await job.done
    expect(await job.collect_chunks() == whole, "the chunks are not the result")
    expect(came.result_size == len(whole), f"the result's size came as {came.result_size}")


async def mixed(fixture):
    await chunks(fixture, "mixed")


async def versions(fixture):
    client = await fixture.connect()
    for asked, got in (("greet", "2.0.0"), ("greet@1.0.0", "1.0.0")):
        job = await client.submit(agent=asked)
        expect(job.agent_ref == f"greet@{got}", f"{asked} was accepted as {job.agent_ref}")
        expect((await job.done).result == f"hello from {got}", "another version answered")
    await expect_refused(client.submit(agent="greet@9.0.0"), "AGENT_VERSION_NOT_AVAILABLE")


async def credentials(fixture):
    client = await fixture.connect()
    expect(client.has_feature("provisioned_credentials"), "credentials were not negotiated")
    job = await client.submit(agent="greet", lease_request={"model.use": ["fast/*"]})
    expect(len(job.credentials) == 1, f"{len(job.credentials)} credentials came")
    expect(job.credentials[0].value and job.credentials[0].endpoint, "the credential has no value")
    await job.done


async def trace(fixture):
    client = await fixture.connect()
    trace_id = os.urandom(16).hex()
    job = await client.submit(agent="echo", trace_id=trace_id)
    await job.done
    traces = {frame.get("trace_id") for frame in fixture.received() if frame.get("job_id")}
    expect(traces == {trace_id}, f"the job's frames have the traces {traces}")


async def close(fixture):
    client, other = await fixture.connect(), await fixture.connect()
    job = await client.submit(agent="gated", input={"gate": fixture.gate})
    await first(job, "progress")
    await client.close()
    fixture.open_gate()
    status = None
    while status != "success":
        page = await other.list_jobs(filter=arcp.ListJobsFilter(agent="gated"))
        status = {row.job_id: row.status for row in page.jobs}[job.job_id]
        expect(status in ("running", "success"), f"the job is {status} after its session closed")


async def answer(client, n):
    """The outcome of one of several submits, if it is wrong."""
    wanted = "AGENT_NOT_AVAILABLE" if n % 5 == 3 else f"n{n}"
    try:
        job = await client.submit(agent="nobody" if n % 5 == 3 else "mirror", input=f"n{n}")
        came = (await job.done).result
    except arcp.ARCPError as error:
        came = error.code
    return None if came == wanted else f"submit {n}: want {wanted} got {came}"


async def pipelining(fixture):
    for run in range(1, RUNS + 1):
        client = await fixture.connect()
        answers = await asyncio.gather(*(answer(client, n) for n in range(20)))
        wrong = [one for one in answers if one is not None]
        expect(not wrong, f"in run {run} {len(wrong)} of 20 promises got another submit's answer; {''.join(wrong[:1])}")
        await client.close()


SCENARIOS = {"list": list_jobs, **{one.__name__: one for one in (
    hello, submit, events, result, error, refusal, cancel, deadline, subscribe, history, resume,
    replay, ack, heartbeat, idempotency, budget, expiry, delegation, chunks, mixed, versions,
    credentials, trace, close, denied, pipelining, disturbance)}}


async def run(name, url, token, called):
    patience = PATIENCE_SEC.get(name, DEADLINE_SEC)
    with tempfile.TemporaryDirectory() as folder:
        fixture = Fixture(url, token, called, folder)
        why = None
        try:
            async with asyncio.timeout(patience):
                await SCENARIOS[name](fixture)
        except TimeoutError:
            why = f"nothing more came in {patience:g} s"
        except Gap as gap:
            why = str(gap)
        except Exception as error:  # whatever the SDK throws is a finding
            why = f"{type(error).__name__}: {error}".split("\n")[0]
        frames = [frame for frame in fixture.received() if frame["type"] != "session.ping"]
        fixture.open_gate()  # no agent waits any longer
        async with asyncio.timeout(DEADLINE_SEC):
            await fixture.leave()
        frames = [frame for frame in frames if frame["type"].endswith(".error")] or frames
        line = {"scenario": name, "works": why is None}
        if why is not None:
            line |= {"why": why, "frame": without_secrets(frames[-1]) if frames else None}
        print(json.dumps(line), flush=True)


async def main(words):
    url, token, called, *names = words
    for name in names or SCENARIOS:
        await run(name, url, token, called)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))

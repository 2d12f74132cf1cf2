// The scenarios for the SDK's client: one function each, which throws when an expectation fails.
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { disturbance } from "./disturbance.mjs";
import { codeOf, ending, expect, expectRefused, expectSame, startGated } from "./fixture.mjs";

const HEARTBEAT_SEC = 1; // of both runtimes
const RUNS = Number(process.env.INTEROP_RUNS ?? 1);

/** Scenarios that take longer than others. */
export const PATIENCE_SEC = { pipelining: 20 + RUNS / 4, disturbance: 60 };

async function hello(fixture) {
  const { client } = await fixture.connect();
  const { runtime, capabilities } = client.welcomePayload;
  expect(runtime.name, "the welcome names no runtime");
  expect(client.hasFeature("subscribe"), "subscribe was not negotiated");
  const greet = capabilities.agents.find((agent) => agent.name === "greet");
  expect(greet?.default === "2.0.0", "the inventory of agents has no default version");
  if (fixture.isStdio) return; // a runtime trusts the process that starts it
  await expectRefused(fixture.connect({ token: "wrong" }), "UNAUTHENTICATED");
}

async function submit(fixture) {
  const peer = await fixture.connect();
  const lease = { "fs.read": ["/srv/**"] };
  const job = await peer.submit("echo", { input: { n: 1 }, lease });
  expect(job.jobId !== "" && job.agent === "echo", `accepted as ${job.agent}`);
  expectSame(job.lease, lease, "the lease became");
  await job.done;
}

async function events(fixture) {
  const peer = await fixture.connect();
  const job = await peer.submit("kinds", { lease: { "tool.call": ["*"] } });
  await job.done;
  const told = peer.told.map((frame) => frame.payload).filter((event) => event.body.phase !== "running");
  expectSame(told.map((event) => event.kind), ["log", "thought", "tool_call", "tool_result", "status", "metric",
    "progress", "artifact_ref", "x-vendor.acme.note"], "the events were");
  expectSame(told[2].body.args, { q: "x" }, "tool_call came with");
  expectSame(told[5].body.value, 12, "metric came with");
}

async function result(fixture) {
  const peer = await fixture.connect();
  const value = { text: "gr\u00fc\u00dfe \u{1f600}\n", nested: [1, -2.5, null, { deep: [true] }] };
  const came = await (await peer.submit("echo", { input: value })).done;
  expectSame(came.final_status, "success", "the job ended as");
  expectSame(came.result, value, "the result was");
}

async function error(fixture) {
  const peer = await fixture.connect();
  expectSame(await ending(await peer.submit("fails")), "INVALID_REQUEST", "the job ended as");
  await peer.alive();
}

async function refusal(fixture) {
  const peer = await fixture.connect();
  await expectRefused(peer.submit("nobody"), "AGENT_NOT_AVAILABLE");
  await peer.alive();
}

async function cancel(fixture) {
  const peer = await fixture.connect();
  const job = await peer.submit("waits");
  await peer.next(job.jobId, "status", "waiting");
  await peer.client.cancelJob(job.jobId);
  expectSame(await ending(job), "CANCELLED", "the job ended as");
  await peer.alive();
}

async function deadline(fixture) {
  const peer = await fixture.connect();
  expectSame(await ending(await peer.submit("waits", { maxRuntimeSec: 1 })), "TIMEOUT", "the job ended as");
  await peer.alive();
}

async function list(fixture) {
  const peer = await fixture.connect();
  const jobs = [];
  for (let at = 0; at < 3; at++) {
    jobs.push(await peer.submit("echo"));
    await jobs[at].done;
  }
  const listed = [];
  let cursor;
  do {
    const page = await peer.client.listJobs({ agent: "echo" }, { limit: 2, ...(cursor && { cursor }) });
    listed.push(...page.jobs.filter((row) => row.status === "success").map((row) => row.job_id));
    cursor = page.nextCursor;
  } while (cursor);
  for (const { jobId } of jobs) {
    const times = listed.filter((one) => one === jobId).length;
    expect(times === 1, `a job that ended is listed ${times} x`);
  }
}

async function observe(fixture, history) {
  const owner = await fixture.connect();
  const observer = await fixture.connect();
  const { jobId } = await startGated(fixture, owner);
  const subscription = await observer.client.subscribe(jobId, history ? { history, fromEventSeq: 0 } : {});
  expectSame(subscription.replayed, history, "subscribed with replayed as");
  if (history) expectSame((await observer.next(jobId, "progress")).current, 1, "not the first event:");
  fixture.openGate();
  for (const number of [2, 3]) {
    expectSame((await observer.next(jobId, "progress")).current, number, `not event ${number}:`);
  }
  expectSame((await observer.end(jobId)).result, "open", "not the job's result:");
  await observer.alive();
}

async function denied(fixture) {
  const peer = await fixture.connect();
  const absent = "job_01ARZ3NDEKTSV4RRFFQ69G5FAV";
  await expectRefused(peer.client.subscribe(absent), "JOB_NOT_FOUND");
  const job = await startGated(fixture, peer);
  // An error here makes the client fail its jobs, too: a runtime may leave this unanswered.
  peer.client.subscribe(absent).catch(() => undefined);
  await peer.client.listJobs(); // the requests before this one have been handled
  fixture.openGate();
  expectSame((await job.done).result, "open", "not the job's result:");
}

/** Cuts the connection of a job that has said something; how to come back. */
async function cutAfterEvents(fixture) {
  const peer = await fixture.connect();
  await startGated(fixture, peer);
  const { client, transport } = peer;
  await transport.close();
  return { session_id: client.state.id, resume_token: client.welcomePayload.resume_token,
    last_event_seq: client.lastEventSeqObserved };
}

function upTo(last) {
  return Array.from({ length: last }, (_, at) => at + 1);
}

async function resume(fixture) {
  const left = await cutAfterEvents(fixture);
  fixture.openGate();
  const { client } = await fixture.connect({ resume: left });
  expectSame(client.state.id, left.session_id, "resumed as another session:");
  await fixture.until(() => fixture.received("job.result").length > 0);
  expectSame(fixture.numbers(), upTo(left.last_event_seq + 3), "the events' numbers were");
  expectSame(fixture.received("job.result")[0].payload.result, "open", "not the job's result:");
}

async function replay(fixture) {
  const left = await cutAfterEvents(fixture);
  fixture.frames.length = 0;
  await fixture.connect({ resume: { ...left, last_event_seq: 0 } });
  await fixture.until(() => fixture.numbers("job.event").length >= left.last_event_seq);
  expectSame(fixture.numbers("job.event"), upTo(left.last_event_seq), "the events' numbers were");
}

async function ack(fixture) {
  const peer = await fixture.connect();
  const job = await startGated(fixture, peer);
  await peer.client.ack(peer.client.lastEventSeqObserved);
  fixture.openGate();
  expectSame((await job.done).result, "open", "not the job's result:");
  await peer.alive();
}

async function heartbeat(fixture) {
  const peer = await fixture.connect();
  await sleep(2500 * HEARTBEAT_SEC);
  expect(fixture.received("session.ping").length > 0, "no ping came");
  await peer.alive();
}

async function idempotency(fixture) {
  const peer = await fixture.connect();
  const idempotencyKey = randomBytes(8).toString("hex");
  const one = await peer.submit("echo", { input: { n: 1 }, idempotencyKey });
  expectSame((await one.done).result, { n: 1 }, "not the job's result:");
  const again = await peer.submit("echo", { input: { n: 1 }, idempotencyKey });
  expect(again.jobId === one.jobId, "another job was started");
  await expectRefused(peer.submit("echo", { input: { n: 2 }, idempotencyKey }), "DUPLICATE_KEY");
  await peer.alive();
  expectSame((await again.done).result, { n: 1 }, "not the first job's result:");
}

async function budget(fixture) {
  const peer = await fixture.connect();
  const job = await peer.submit("spends", { lease: { "tool.call": ["*"], "cost.budget": ["USD:1.00"] } });
  expectSame(job.budget, { USD: 1 }, "accepted with the budget");
  expectSame(await ending(job), "BUDGET_EXHAUSTED", "the job ended as");
  const left = peer.told.map((frame) => frame.payload.body)
    .filter((body) => body.name === "cost.budget.remaining").at(-1)?.value;
  expect(Math.abs(left + 0.2) < 1e-9, `what remained was reported as ${left}`);
}

async function expiry(fixture) {
  const peer = await fixture.connect();
  const expires_at = new Date(Date.now() + 1000).toISOString();
  const job = await peer.submit("waits", { leaseConstraints: { expires_at } });
  expectSame(await ending(job), "LEASE_EXPIRED", "the job ended as");
  await peer.alive();
}

async function delegation(fixture) {
  const peer = await fixture.connect();
  const job = await peer.submit("delegates", { input: { n: 1 }, lease: { "agent.delegate": ["*"] } });
  // Another submit, while the parent starts its child: each gets its own response.
  const other = await peer.submit("echo", { input: { n: 2 } });
  expectSame((await other.done).result, { n: 2 }, "the other submit got another job's answer:");
  const body = fixture.received("job.event").find(({ payload }) => payload.kind === "delegate")?.payload.body ??
    await peer.next(job.jobId, "delegate");
  expect(body.child_job_id && body.agent === "echo", `delegate came as ${JSON.stringify(body)}`);
  expectSame((await job.done).result, { n: 1 }, "not the child's result:");
}

async function streamed(fixture, agent) {
  const peer = await fixture.connect();
  const job = await peer.submit(agent);
  const whole = Buffer.from("one two \xff three", "latin1");
  const end = await job.done;
  const came = Buffer.from(await job.collectChunks());
  expect(came.equals(whole), `the chunks were ${JSON.stringify(came.toString("latin1"))}`);
  expectSame(end.result_size, whole.length, "the result's size came as");
}

async function versions(fixture) {
  const peer = await fixture.connect();
  for (const [asked, got] of [["greet", "2.0.0"], ["greet@1.0.0", "1.0.0"]]) {
    const job = await peer.submit(asked);
    expect(job.agent === `greet@${got}`, `${asked} was accepted as ${job.agent}`);
    expectSame((await job.done).result, `hello from ${got}`, "another version answered:");
  }
  await expectRefused(peer.submit("greet@9.0.0"), "AGENT_VERSION_NOT_AVAILABLE");
}

async function credentials(fixture) {
  const peer = await fixture.connect();
  expect(peer.client.hasFeature("provisioned_credentials"), "credentials were not negotiated");
  const job = await peer.submit("greet", { lease: { "model.use": ["fast/*"] } });
  expect(job.credentials?.length === 1, `${job.credentials?.length ?? 0} credentials came`);
  expect(job.credentials[0].value && job.credentials[0].endpoint, "the credential has no value");
  await job.done;
}

async function trace(fixture) {
  const peer = await fixture.connect();
  const traceId = randomBytes(16).toString("hex");
  await (await peer.submit("echo", { traceId })).done;
  const traces = new Set(fixture.received().filter((frame) => frame.job_id).map((frame) => frame.trace_id));
  expectSame([...traces], [traceId], "the job's frames have the traces");
}

async function close(fixture) {
  const peer = await fixture.connect();
  const other = await fixture.connect();
  const { jobId } = await startGated(fixture, peer);
  await peer.client.close();
  fixture.openGate();
  for (let status; status !== "success";) {
    const { jobs } = await other.client.listJobs({ agent: "gated" });
    status = jobs.find((row) => row.job_id === jobId)?.status;
    expect(["running", "success"].includes(status), `the job is ${status} after its session closed`);
  }
}

async function pipelining(fixture) {
  for (let run = 1; run <= RUNS; run++) {
    const peer = await fixture.connect();
    const answers = await Promise.all(Array.from({ length: 20 }, async (_, n) => {
      const refused = n % 5 === 3;
      const came = await peer.submit(refused ? "nobody" : "mirror", { input: `n${n}` })
        .then(async (job) => (await job.done).result, codeOf).catch(codeOf);
      const wanted = refused ? "AGENT_NOT_AVAILABLE" : `n${n}`;
      return came === wanted ? [] : [`submit ${n}: want ${wanted} got ${came}`];
    }));
    const wrong = answers.flat();
    expect(wrong.length === 0, `in run ${run} ${wrong.length} of 20 promises got another submit's answer; ${wrong[0]}`);
    await peer.client.close();
  }
}

export const scenarios = {
  hello, submit, events, result, error, refusal, cancel, deadline, list, denied, resume, replay, ack, heartbeat, idempotency,
  budget, expiry, delegation, versions, credentials, trace, close, pipelining, disturbance,
  subscribe: (fixture) => observe(fixture, false),
  history: (fixture) => observe(fixture, true),
  chunks: (fixture) => streamed(fixture, "chunks"),
  mixed: (fixture) => streamed(fixture, "mixed"),
};

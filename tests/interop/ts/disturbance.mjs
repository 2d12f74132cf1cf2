// Submits over a connection that is cut again and again. Requests that a cut leaves unanswered are sent again with their
// idempotency key; at the end each key has one job, each job its own result, and each event was received once and in order.
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";

import { expect, expectSame } from "./fixture.mjs";

const JOBS = 12;
const STEPS = 60; // of each job

/** Resumes the session until that works: handshakes are cut, too. */
async function resumeSession(fixture, state) {
  for (;;) {
    try {
      return await fixture.connect({ resume: { ...state, last_event_seq: Math.max(0, ...fixture.numbers()) } });
    } catch (error) {
      expect(!["RESUME_WINDOW_EXPIRED", "UNAUTHENTICATED"].includes(error.code), `the resume was refused: ${error.message}`);
      await sleep(20);
    }
  }
}

export async function disturbance(fixture) {
  const names = Array.from({ length: JOBS }, (_, n) => `n${n}`);
  const keys = names.map(() => randomBytes(8).toString("hex"));
  const jobs = new Map(); // the name of each that was answered
  const isDone = () => {
    const ended = new Set(fixture.received("job.result").map((frame) => frame.job_id));
    return names.every((name) => ended.has(jobs.get(name)));
  };
  let peer = await fixture.connect();
  while (!isDone()) {
    const { client, transport } = peer;
    names.forEach((name, n) => {
      if (jobs.has(name)) return;
      peer.submit("steps", { input: { name, steps: STEPS }, idempotencyKey: keys[n] })
        .then((job) => jobs.set(name, job.jobId), () => undefined); // asked again after the resume
    });
    await fixture.until(() => transport.closed || isDone());
    if (isDone()) break;
    peer = await resumeSession(fixture, { session_id: client.state.id, resume_token: client.welcomePayload.resume_token });
  }
  check(fixture, names, jobs);
}

function check(fixture, names, jobs) {
  expectSame(new Set(jobs.values()).size, JOBS, "the keys' jobs are not as many:");
  const numbers = fixture.numbers();
  numbers.forEach((number, at) => expect(number === at + 1, `event ${number} came, ${at + 1} was next`));
  for (const name of names) {
    const ours = fixture.received().filter((frame) => frame.job_id === jobs.get(name));
    const steps = ours.filter((frame) => frame.payload.kind === "progress").map((frame) => frame.payload.body.current);
    expectSame(steps, Array.from({ length: STEPS }, (_, at) => at + 1), `${name}'s steps were`);
    // A client that repeats the submit of an ended job receives its end again.
    const results = new Set(ours.filter((frame) => frame.type === "job.result").map((frame) => frame.payload.result));
    expectSame([...results], [name], `${name} was answered with`);
  }
}

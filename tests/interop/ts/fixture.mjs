// One scenario's connections to one runtime, and every frame that came over them.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { ARCPClient, ARCPError, StdioTransport, WebSocketTransport } from "@agentruntimecontrolprotocol/sdk";

import { Recorder } from "./recorder.mjs";

/** The expectation of a scenario, and what happened instead. */
export class Gap extends Error {}

export function expect(condition, why) {
  if (!condition) throw new Gap(why);
}

export function expectSame(came, wanted, what) {
  expect(isDeepStrictEqual(came, wanted), `${what} ${JSON.stringify(came)}`);
}

/** A client, its transport, and the events that the client told of. */
class Peer {
  constructor(client, transport) {
    this.client = client;
    this.transport = transport;
    this.ends = new Map(); // of jobs: their result or error frames
    this.told = [];
    client.on("job.event", (frame) => void this.told.push(frame));
    for (const type of ["job.result", "job.error"]) {
      client.on(type, (frame) => void this.ends.set(frame.job_id, frame));
    }
  }

  submit(agent, more = {}) {
    return this.client.submit({ agent, ...more });
  }

  /** The body of the job's next event of this kind. */
  async next(jobId, kind, phase) {
    for (;;) {
      const at = this.told.findIndex(({ job_id, payload }) => job_id === jobId && payload.kind === kind &&
        (phase === undefined || payload.body.phase === phase));
      if (at >= 0) return this.told.splice(0, at + 1).at(-1).payload.body;
      expect(!this.ends.has(jobId), `the job ended without a ${kind} event`);
      await sleep(2);
    }
  }

  async end(jobId) {
    while (!this.ends.has(jobId)) await sleep(2);
    return this.ends.get(jobId).payload;
  }

  async alive() {
    const job = await this.submit("echo", { input: { alive: true } });
    expectSame((await job.done).result, { alive: true }, "the session does not go on:");
  }
}

export class Fixture {
  constructor(url, token, name, folder) {
    Object.assign(this, { url, token, name, folder, frames: [], peers: [], programs: [] });
    this.gate = join(folder, "gate");
  }

  get isStdio() {
    return this.url.startsWith("stdio:");
  }

  openGate() {
    writeFileSync(this.gate, "");
  }

  received(type) {
    return this.frames.filter((frame) => type === undefined || frame.type === type);
  }

  numbers(type) {
    return this.received(type).map((frame) => frame.event_seq).filter((number) => number !== undefined);
  }

  async transport() {
    if (!this.isStdio) return WebSocketTransport.connect(this.url);
    const [command, ...words] = this.url.slice("stdio:".length).split(" ");
    const program = spawn(command, words, { stdio: ["pipe", "pipe", "inherit"] });
    this.programs.push(program);
    return StdioTransport.fromChild(program);
  }

  async connect({ token = this.token, resume } = {}) {
    const line = new Recorder(await this.transport(), (frame) => void this.frames.push(frame));
    const client = new ARCPClient({ client: { name: this.name, version: "1" }, authScheme: "bearer", token });
    const peer = new Peer(client, line);
    this.peers.push(peer);
    await (resume === undefined ? client.connect(line) : client.resume(line, resume));
    return peer;
  }

  async until(done) {
    while (!done()) await sleep(2);
  }

  async leave() {
    await Promise.allSettled(this.peers.map((peer) => peer.client.close()));
    for (const program of this.programs) {
      program.stdin.end();
      await new Promise((resolve) => (program.exitCode === null ? program.once("exit", resolve) : resolve()));
    }
  }
}

/** A job that has said something and waits for the gate. */
export async function startGated(fixture, peer) {
  const job = await peer.submit("gated", { input: { gate: fixture.gate } });
  await peer.next(job.jobId, "progress");
  return job;
}

export function codeOf(error) {
  if (!(error instanceof ARCPError)) throw error;
  return error.code;
}

/** How a job ended: a status, or an error's code. */
export async function ending(job) {
  return job.done.then((payload) => payload.final_status, codeOf);
}

export async function expectRefused(request, code) {
  const came = await request.then(() => undefined, codeOf);
  expect(came === code, came === undefined ? `not refused as ${code}` : `refused as ${came} instead of ${code}`);
}

// The SDK's runtime with the agents that every scenario of tests/interop knows.
//
//   runtime.mjs [--stdio] TOKEN OTHER_TOKEN
//
// Prints `ready URL`. Ends with its standard input.
import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { ARCPServer, InMemoryCredentialStore, InvalidRequestError, startWebSocketServer, StaticBearerVerifier,
  StdioTransport, validateLeaseOp } from "@agentruntimecontrolprotocol/sdk";

const HEARTBEAT_SEC = 1;

const agents = {
  async echo(input, job) {
    await job.log("info", "echo");
    return input;
  },

  async mirror(input) {
    return input;
  },

  async kinds(input, job) {
    await job.log("warn", "a log");
    await job.thought("a thought");
    await job.toolCall({ tool: "search", args: { q: "x" }, call_id: "c1" });
    await job.toolResult({ call_id: "c1", result: 3 });
    await job.status("halfway", "a status");
    await job.metric({ name: "tokens.in", value: 12, unit: "tokens" });
    await job.progress(1, { total: 2, units: "pages", message: "a page" });
    await job.artifactRef({ uri: "file:///a.txt", content_type: "text/plain" });
    await job.emitEvent("x-vendor.acme.note", { text: "a note" });
    return null;
  },

  async fails() {
    throw new InvalidRequestError("the input is odd");
  },

  async waits(input, job) {
    await job.status("waiting");
    await new Promise((_, reject) => job.signal.addEventListener("abort", () => reject(job.signal.reason)));
  },

  /** Some progress, then the rest once the file `gate` is there. */
  async gated({ gate }, job) {
    await job.progress(1, { total: 3 });
    while (!existsSync(gate)) await sleep(10, undefined, { signal: job.signal });
    await job.progress(2, { total: 3 });
    await job.progress(3, { total: 3 });
    return "open";
  },

  async spends(input, job) {
    const authorize = () => validateLeaseOp({ lease: job.lease, capability: "tool.call", target: "search",
      ctx: { budgetRemaining: job.budget } });
    for (let at = 0; at < 2; at++) {
      authorize();
      await job.metric({ name: "cost.search", value: 0.6, unit: "USD" });
    }
    authorize();
    return "not stopped";
  },

  /** An agent of the SDK starts a child by its event, and is not told what becomes of it. */
  async delegates(input, job) {
    await job.delegate({ delegate_id: "d1", agent: "echo", input });
    return input;
  },

  async chunks(input, job) {
    const stream = job.streamResult();
    for (const data of ["b25lIA==", "dHdvIP8g"]) await stream.write(data, { encoding: "base64" });
    await stream.finalize("dGhyZWU=", { encoding: "base64", resultSize: 15 });
  },

  async mixed(input, job) {
    const stream = job.streamResult();
    await stream.write("one ");
    await stream.write("dHdvIP8g", { encoding: "base64" });
    await stream.finalize("three", { resultSize: 15 });
  },
};

/** One credential for each job that may use a model. */
const provisioner = {
  async issue({ jobId, lease }) {
    if (lease["model.use"] === undefined) return [];
    return [{ provisionerId: jobId, wire: { id: `cred_${jobId}`, scheme: "bearer", value: "secret",
      endpoint: "https://gateway.example/v1" } }];
  },
  async revoke() {},
};

function newRuntime(token, other) {
  const runtime = new ARCPServer({
    runtime: { name: "interop-ts", version: "1" },
    capabilities: { encodings: ["json"] },
    bearer: new StaticBearerVerifier(new Map([[token, { principal: "me" }], [other, { principal: "other" }]])),
    heartbeatIntervalSeconds: HEARTBEAT_SEC,
    cancelGraceMs: 100,
    credentialProvisioner: provisioner,
    credentialStore: new InMemoryCredentialStore(),
  });
  for (const [name, agent] of Object.entries(agents)) runtime.registerAgent(name, agent);
  for (const version of ["1.0.0", "2.0.0"]) {
    runtime.registerAgentVersion("greet", version, async () => `hello from ${version}`);
  }
  runtime.setDefaultAgentVersion("greet", "2.0.0");
  return runtime;
}

const isStdio = process.argv[2] === "--stdio";
const runtime = newRuntime(...process.argv.slice(-2));
if (isStdio) {
  runtime.accept(StdioTransport.fromProcess());
} else {
  const server = await startWebSocketServer({ onTransport: (transport) => runtime.accept(transport) });
  process.stdout.write(`ready ${server.url}/arcp\n`);
  process.stdin.resume();
}
process.stdin.on("end", () => process.exit(0));

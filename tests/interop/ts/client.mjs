// The SDK's client through the scenarios of tests/interop.
//
//   client.mjs URL TOKEN NAME SCENARIO...
//
// NAME is the client's name. Prints for each scenario one line of JSON: its name,
// whether it works, and if not why, with the last error, else the last frame, that came from the runtime.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { withoutSecrets } from "./recorder.mjs";
import { PATIENCE_SEC, scenarios } from "./scenarios.mjs";
import { Gap, Fixture } from "./fixture.mjs";

const DEADLINE_SEC = 8;

function shown(frames) {
  const told = frames.filter((frame) => frame.type !== "session.ping");
  const errors = told.filter((frame) => frame.type.endsWith(".error"));
  return withoutSecrets(errors.at(-1) ?? told.at(-1));
}

async function play(url, token, called, name) {
  const folder = mkdtempSync(join(tmpdir(), "arcp-interop-"));
  const fixture = new Fixture(url, token, called, folder);
  const deadline = PATIENCE_SEC[name] ?? DEADLINE_SEC;
  const late = sleep(deadline * 1000).then(() => {
    throw new Gap(`nothing more came in ${deadline} s`);
  });
  let why;
  try {
    await Promise.race([scenarios[name](fixture), late]);
  } catch (error) { // whatever the SDK throws is a finding
    why = error instanceof Gap ? error.message : `${error.name}: ${error.message}`.split("\n")[0];
  }
  const frames = fixture.received();
  fixture.openGate(); // no agent waits any longer
  await Promise.race([fixture.leave(), sleep(DEADLINE_SEC * 1000)]);
  for (const program of fixture.programs) program.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
  return { scenario: name, works: why === undefined, ...(why === undefined ? {} : { why, frame: shown(frames) }) };
}

// The requests of a scenario that timed out fail later; their errors are ignored.
process.on("unhandledRejection", () => undefined);
const [url, token, called, ...names] = process.argv.slice(2);
for (const name of names) {
  process.stdout.write(`${JSON.stringify(await play(url, token, called, name))}\n`);
}
process.exit(0);

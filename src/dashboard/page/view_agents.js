// The agents of this runtime, and what their jobs did. Roles see the room of each, and all of its jobs.
import { h, fill, empty, foreign, redraw, scrolling } from "./dom.js";
import { showListing } from "./listing.js";
import { count, isEnded } from "./format.js";

const NOTHING = ["This runtime has no agents. Give it one:", "arcpd --agent NAME=COMMAND"];

const name = (agent) => h("a", { href: `#/jobs?agent=${encodeURIComponent(agent.name)}` }, foreign(agent.name));

function sandbox(isUnconfined, isOfWorkers) {
  if (isOfWorkers) return "as the files of its workers say";
  return isUnconfined ? h("span", { class: "bad" }, "none: has the rights of its user") : "from each job's lease, unless enforce.mode is off";
}

/** How many jobs of a version run, and how many may. */
function room({ running, max_jobs: most, workers }) {
  if (most !== undefined) return `${count(running)} of ${count(most)}`;
  return workers === undefined ? count(running) : `${count(running)} on ${count(workers)} ${workers === 1 ? "worker" : "workers"}`;
}

function showRooms(main, session) {
  const cells = (agent) => {
    const { versions, ended = {} } = agent;
    const each = (write) => (versions.length === 1 ? write(versions[0]) : versions.map((version) => h("div", null, write(version))));
    return [name(agent), each((version) => (versions.length === 1 && version.version === "" ? "" : h("span", { class: "tag" }, foreign(version.version || "no version"), version.default && versions.length > 1 ? " (default)" : ""))),
      sandbox(agent.unconfined, versions.some((version) => version.workers !== undefined)),
      each(room), each((version) => count(version.queued)), ...[ended.success, (ended.error ?? 0) + (ended.timed_out ?? 0), ended.cancelled].map((number) => count(number ?? 0))];
  };
  return showListing(main, { session, title: "Agents", request: "agents", rows: "agents", noun: "agent", cells, nothing: NOTHING,
    about: "“Running” also says how many jobs may run at the same time (max_jobs), or how many workers offer the agent. Ended jobs are counted since arcpd was started.",
    columns: [{ label: "Agent" }, { label: "Versions" }, { label: "Sandbox" }, ...["Running", "Waiting", "Succeeded", "Failed", "Cancelled"].map((label) => ({ label, className: "number" }))] });
}

export function show(main, { session }) {
  if (session.seesAll) return showRooms(main, session);
  const draw = () => {
    const uses = new Map();
    session.jobs.forEach((row) => {
      const id = row.agent.split("@")[0];
      const use = uses.get(id) ?? { running: 0, ended: 0, failed: 0, denials: 0 };
      use.running += isEnded(row) ? 0 : 1;
      use.ended += isEnded(row) ? 1 : 0;
      use.failed += row.status === "error" || row.status === "timed_out" ? 1 : 0;
      use.denials += row.denials ?? 0;
      uses.set(id, use);
    });
    const agents = (session.agents ?? []).map((agent) => (typeof agent === "string" ? { name: agent } : agent));
    fill(main, h("h1", null, "Agents"),
      h("p", { class: "hint" }, "The counts are those of the newest jobs that this page has loaded."),
      agents.length === 0 ? empty(...NOTHING) : scrolling("Agents", h("table", { class: "plain" },
        h("thead", null, h("tr", null, ["Agent", "Versions", "Sandbox", "Running", "Ended", "Failed", "Denied"].map((label, i) => h("th", { scope: "col", class: i > 2 ? "number" : null }, label)))),
        h("tbody", null, agents.map((agent) => {
          const use = uses.get(agent.name) ?? { running: 0, ended: 0, failed: 0, denials: 0 };
          return h("tr", null, h("th", { scope: "row" }, name(agent)),
            h("td", null, (agent.versions ?? []).map((version) => h("span", { class: "tag" }, foreign(version), version === agent.default ? " (default)" : ""))),
            h("td", null, sandbox(agent["x-vendor.arcpd.unconfined"])),
            [use.running, use.ended, use.failed, use.denials].map((value) => h("td", { class: "number" }, count(value))));
        })))));
  };
  const onJobs = () => redraw(main, draw);
  session.addEventListener("jobs", onJobs);
  draw();
  return () => session.removeEventListener("jobs", onJobs);
}

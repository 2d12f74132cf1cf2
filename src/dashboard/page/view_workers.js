// The processes that run agents, on this machine and on others, and draining one. For roles.
import { h, foreign } from "./dom.js";
import { ask } from "./dialog.js";
import { showListing } from "./listing.js";
import { count, dateTime } from "./format.js";

const AGENTS_SHOWN = 20;

function drain(session, row, again) {
  ask({
    title: "Drain this worker?", keep: "Keep it", verb: "Drain the worker",
    body: h("p", null, foreign(row.name), ` gets no new jobs, and ends when its last one has. It has ${count(row.jobs)} ${row.jobs === 1 ? "job" : "jobs"} now.`),
    act: async () => { await session.ask("drain", { name: row.name }); again(); },
  });
}

function forget(session, row, again) {
  ask({
    title: "Forget this worker?", keep: "Wait for it", verb: "Forget the worker",
    body: h("p", null, foreign(row.name), ` is away. Forget it only if its machine is off: its ${count(row.jobs)} ${row.jobs === 1 ? "job ends" : "jobs end"} as lost, and may be run again elsewhere.`),
    act: async () => { await session.ask("forget", { name: row.name }); again(); },
  });
}

const MARKS = { joined: ["success", "✓"], draining: ["cancelled", "◌"], away: ["error", "✕"] };

function state(row) {
  const [name, mark] = MARKS[row.state] ?? ["", ""];
  return [h("span", { class: `status ${name}` }, mark, " ", foreign(row.state)),
    row.drains_since === undefined ? "" : h("div", { class: "hint" }, "drains since ", dateTime(row.drains_since))];
}

/** What an operator may do about it. */
function action(session, row, again) {
  const button = (verb, act) => h("button", { type: "button", class: "danger", "aria-label": `${verb} ${row.name}`, on: { click: () => act(session, row, again) } }, `${verb}…`);
  if (!session.isOperator) return "";
  if (row.state === "away") return button("Forget", forget);
  return isLocal(row) || row.state === "draining" ? "" : button("Drain", drain);
}

/** The worker of arcpd's own machine has no address; it cannot be drained, and runs agents of arcpd's configuration. */
const isLocal = (row) => row.local === true;

/** The engine's word on an offer, where there is one. */
function tag(offer) {
  const why = offer.hidden ? "hidden by arcpd's configuration" : offer.differs ? "another worker has another row" : "";
  return [h("span", { class: "tag" }, foreign(offer.agent)), why === "" ? "" : h("span", { class: "hint" }, ` ${why} `)];
}

function agents(row) {
  if (isLocal(row)) return h("span", { class: "hint" }, "those of arcpd's configuration");
  const offered = row.agents ?? [];
  const more = offered.length - AGENTS_SHOWN;
  return [offered.slice(0, AGENTS_SHOWN).map(tag), more > 0 ? `and ${count(more)} more` : ""];
}

export function show(main, { session }) {
  const cells = (row, again) => [
    foreign(row.name), state(row),
    dateTime(row.since), count(row.jobs), count(row.capacity), agents(row), isLocal(row) ? "this machine" : foreign(row.peer ?? ""),
    h("code", null, row.pid ?? ""),
    [foreign(row.version ?? ""), h("div", { class: "hint" }, foreign(row.instance ?? "", "code"))],
    action(session, row, again)];
  return showListing(main, { session, title: "Workers", request: "workers", rows: "workers", noun: "worker", cells,
    about: ["Processes that run agents for arcpd, and are connected to it or may come back. ", h("code", null, "arcp workers forget NAME"), " ends the jobs of one that does not come back."],
    columns: [{ label: "Worker" }, { label: "State" }, { label: "Since", className: "time" }, { label: "Jobs", className: "number" }, { label: "Capacity", className: "number" }, { label: "Agents" },
      { label: "Address" }, { label: "Process", className: "number" }, { label: "Version, instance" }, { label: "Actions" }],
    nothing: ["There is no worker. Start one on another machine, with a token of workers.tokens in arcpd's configuration:", "arcp-worker --config worker.yaml"] });
}

// The first view: what runs, what was refused, and what it costs.
import { h, fill, empty, foreign, setText } from "./dom.js";
import { at, bytes, count, dateTime } from "./format.js";
import { sparkline } from "./chart.js";
import { addDecimals, decimalOf } from "./view_money.js";
import { jobTable } from "./view_jobs.js";

function tile(label, value, more) {
  return h("section", { class: "tile" }, h("h2", null, label), h("p", { class: "big" }, value), more ? h("p", { class: "hint" }, more) : null);
}

/** What all these jobs have spent, by currency: [[currency, amount]]. */
function spent(rows) {
  const sums = new Map();
  rows.filter((row) => !row.parent_job_id).forEach((row) => Object.entries(row.budget ?? {}).forEach(([currency, amounts]) => {
    sums.set(currency, addDecimals(sums.get(currency) ?? "0", amounts.spent ?? 0));
  }));
  return [...sums];
}

function tiles(rows) {
  const of = (...statuses) => rows.filter((row) => statuses.includes(row.status)).length;
  const denied = rows.reduce((sum, row) => sum + (row.denials ?? 0), 0);
  const failed = of("error", "timed_out");
  return [tile("Running", count(of("running"))), tile("Waiting", count(of("pending"))),
    tile("Succeeded", count(of("success"))), tile("Failed", count(failed), of("cancelled") ? `and ${count(of("cancelled"))} cancelled` : null),
    tile("Denied", count(denied), denied ? "operations that leases did not grant" : null),
    ...spent(rows).map(([currency, amount]) => tile("Spent", `${amount} ${currency}`))];
}

const POINTS_MAX = 3600;
const BUCKETS = 240;
const sum = (of) => Object.values(of ?? {}).reduce((all, value) => all + value, 0);
// What a chart shows of the figures of a second, how several seconds become one point, and how its newest value is written.
const CHARTS = [
  { name: "Jobs running or waiting", of: (second) => second.running, join: Math.max, write: count },
  { name: "Jobs waiting for a place", of: (second) => second.queued, join: Math.max, write: count },
  { name: "Events", of: (second) => second.events, join: Math.max, write: (value) => `${count(value)} /s` },
  { name: "Denials", of: (second) => sum(second.denials), join: (a, b) => a + b, write: (value) => `${count(value)} /s` },
  { name: "Commit time, slowest of 100", of: (second) => second.commit_p99_us / 1000, join: Math.max, write: (value) => `${value.toFixed(1)} ms` },
  { name: "Sessions", of: (second) => second.sessions, join: Math.max, write: count },
  { name: "Memory", of: (second) => second.memory_bytes ?? 0, join: Math.max, write: bytes },
];

/** The i-th second of an answer with series. */
function secondOf(answer, i) {
  const pick = (value) => (Array.isArray(value) ? value[i] : Object.fromEntries(Object.entries(value ?? {}).map(([name, series]) => [name, series[i]])));
  return { running: answer.running[i], queued: answer.queued[i], events: answer.events[i], denials: pick(answer.denials), spend: pick(answer.spend), commit_p99_us: answer.commit_p99_us[i], sessions: answer.sessions[i],
    memory_bytes: answer.memory_bytes?.[i] };
}

function joined(points, join) {
  const size = Math.ceil(points.length / BUCKETS);
  return size <= 1 ? points : Array.from({ length: Math.ceil(points.length / size) }, (_, i) => points.slice(i * size, (i + 1) * size).reduce(join));
}

// What sandboxes of the host enforce: a sentence, and whether a reader should look into it.
const LEVELS = {
  full: ["Agents run in sandboxes of level full.", false],
  landlock: ["Agents run in sandboxes of level landlock: some lines of a lease are enforced less exactly.", true],
  none: ["This host cannot make sandboxes: agents that need one are refused.", true],
  off: ["Agents run without sandboxes (enforce.mode is off): a lease decides only what they ask about.", true],
};

function enforcement(level) {
  if (level === undefined) return null;
  const [sentence, isBad] = LEVELS[level] ?? [`Sandboxes are of level ${level}.`, true];
  return h("p", { class: "enforcement" }, h("span", { class: `status ${isBad ? "cancelled" : "success"}` }, isBad ? "! " : "✓ ", `enforcement ${level}`),
    h("span", { class: "hint" }, ` ${sentence}`, level === "landlock" || level === "none" ? [" ", h("code", null, "arcp doctor"), " says what this host lacks."] : ""));
}

/** Whether jobs and decisions can be written. */
function health({ store_failing: store, audit_failing: audit }) {
  if (!store && !audit) return h("p", null, h("span", { class: "status success" }, "✓ healthy"), h("span", { class: "hint" }, " The store and the audit log are written."));
  return h("p", { class: "bad", role: "alert" }, `✕ ${[store ? "The store cannot be written: no job is accepted." : "", audit ? "The audit log cannot be written." : ""].join(" ")} `, h("code", null, "arcp status"), " says more.");
}

/** How many workers there are, and the places of those that take jobs. Nothing where no worker is known. */
function workerTiles({ workers }) {
  if (workers === undefined) return null;
  const rest = [[workers.away, "away"], [workers.draining, "draining"]].filter(([number]) => number > 0).map(([number, state]) => `${count(number)} ${state}`).join(", ");
  return h("div", { class: "tiles" }, h("a", { class: "tile", href: "#/workers" }, h("h3", null, "Workers connected"), h("p", { class: "big" }, count(workers.joined)), h("p", { class: "hint" }, rest || "none away, none draining")),
    workers.capacity > 0 ? tile("Places taken on workers", `${count(workers.jobs)} of ${count(workers.capacity)}`, "of agents that workers offer") : null);
}

/** What was spent since the first of these seconds, by currency: tiles with the sum as it grew. */
function spendTiles(seconds) {
  const currencies = new Set(seconds.flatMap(({ spend }) => Object.keys(spend ?? {})));
  return [...currencies].map((currency) => {
    let sum = "0";
    const points = seconds.map(({ spend }) => {
      if (Number(spend?.[currency] ?? 0) !== 0) sum = addDecimals(sum, decimalOf(spend[currency]));
      return Number(sum);
    });
    return h("section", { class: "tile" }, h("h3", null, "Spent in this time"), h("p", { class: "big" }, `${sum} `, foreign(currency)), sparkline(joined(points, Math.max), `Spent, in ${currency}`));
  });
}

/** Charts of the last hour, for roles: one request, then the figures of each second as they come. */
function charts(session) {
  const about = h("div");
  const graphs = h("div", { class: "charts" });
  const box = h("section", { class: "charts", "aria-label": "The last hour" }, about, graphs);
  let known = "";
  let seconds = [];
  let since = "";
  let state = {};
  /** Only when it differs, so that a screen reader does not say it each second. */
  const drawAbout = () => {
    const now = JSON.stringify([state.store_failing, state.audit_failing, state.enforcement, state.workers]);
    if (now !== known) fill(about, health(state), enforcement(state.enforcement), workerTiles(state));
    known = now;
  };
  const drawGraphs = () => fill(graphs, h("p", { class: "hint" }, `The last hour, second by second, since this arcpd was started at ${since}.`), h("div", { class: "tiles" }, CHARTS.map(({ name, of, join, write }) => {
    const points = seconds.map(of);
    return h("section", { class: "tile" }, h("h3", null, name), h("p", { class: "big" }, write(points[points.length - 1] ?? 0)), sparkline(joined(points, join), name));
  }), spendTiles(seconds)));
  const draw = () => { drawAbout(); drawGraphs(); };
  const onFigures = ({ detail }) => {
    if (since === "") return;
    state = detail;
    seconds = [...seconds.slice(1 - POINTS_MAX), detail];
    draw();
  };
  session.addEventListener("figures", onFigures);
  session.ask("figures", { range: "1h" }).then((answer) => {
    since = dateTime(answer.since);
    state = answer;
    seconds = Array.from({ length: answer.points }, (_, i) => secondOf(answer, i));
    draw();
  }).catch((error) => { if (error.code !== "AWAY") fill(about, h("p", { class: "bad" }, foreign(error.message))); });
  return { element: box, close: () => session.removeEventListener("figures", onFigures) };
}

export function show(main, { session }) {
  const top = h("div", { class: "tiles" });
  const figures = session.seesAll ? charts(session) : null;
  const running = h("p", { class: "hint" });
  const table = jobTable(session, "Newest jobs");
  const list = h("section", { class: "card grow" }, h("h2", null, "Newest jobs"), running, table.element);
  const drawJobs = () => {
    const rows = [...session.jobs.values()].sort((a, b) => at(b.created_at) - at(a.created_at)).slice(0, 100);
    if (rows.length === 0) {
      fill(list, h("h2", null, "Newest jobs"), session.isLoaded ? empty("No jobs yet. Submit one:", "arcp submit AGENT") : empty("Loading…"));
    } else {
      if (!list.contains(table.element)) fill(list, h("h2", null, "Newest jobs"), running, table.element);
      setText(running, `“Running” to “Spent” above count ${rows.length === 1 ? "this job" : `these ${rows.length} jobs`}.`);
      table.set(rows);
      fill(top, tiles(rows));
    }
  };
  fill(main, h("h1", null, "Overview"),
    h("p", { class: "hint" }, "Signed in as ", foreign(session.principal ?? "?"), session.role === "none" ? "" : `, ${session.role}`,
      session.seesAll ? ". You see the jobs of all principals." : ". You see your own jobs."),
    top, figures ? figures.element : null, list);
  session.addEventListener("jobs", drawJobs);
  drawJobs();
  return () => {
    session.removeEventListener("jobs", drawJobs);
    figures?.close();
    table.close();
  };
}

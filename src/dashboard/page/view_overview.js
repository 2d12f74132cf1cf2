// The first view: what runs, what was refused, what it costs, and whether the runtime is well.
import { h, fill, empty, foreign, setText } from "./dom.js";
import { sparkline } from "./chart.js";
import { bytes, count, dateTime, duration, isEnded, at } from "./format.js";
import { jobTable } from "./view_jobs.js";

const sum = (points) => points.reduce((a, b) => a + b, 0);

function tile(label, value, more) {
  return h("section", { class: "tile" }, h("h2", null, label), h("p", { class: "big" }, value), more);
}

function charts(f) {
  // A ring has a number for each second of the last hour: the last five minutes are drawn.
  const recent = (name) => (f[name] ?? []).slice(-300);
  const since = f.since ? h("p", { class: "hint" }, `Counted since ${dateTime(f.since)}; the lines show the last five minutes.`) : null;
  return [
    h("div", { class: "tiles" },
      tile("Running", count(f.running ?? 0), sparkline(recent("running_each"), "running jobs")),
      tile("Waiting", count(f.queued ?? 0), null),
      tile("Jobs begun", count(sum(recent("begun"))), sparkline(recent("begun"), "jobs begun each second")),
      tile("Denied", count(sum(recent("denials"))), sparkline(recent("denials"), "denials each second")),
      tile("Events", count(sum(recent("events"))), sparkline(recent("events"), "events each second"))),
    since];
}

function health(f) {
  const rows = [
    ["Sessions", count(f.sessions)],
    ["Memory", bytes(f.memory_bytes)],
    ["Commit, median and 99 of 100", f.commit_p50_ms === undefined ? "" : `${duration(f.commit_p50_ms)}, ${duration(f.commit_p99_ms)}`],
    ["Store", f.store?.state ?? ""],
    ["Audit log", f.audit?.state ?? ""],
  ].filter(([, value]) => value !== "");
  return h("section", { class: "card" }, h("h2", null, "Runtime"),
    h("dl", null, rows.map(([name, value]) => [h("dt", null, name), h("dd", null, value)])));
}

export function show(main, { session }) {
  const top = h("div");
  const state = h("div");
  const running = h("p", { class: "hint" });
  const table = jobTable(session, "Newest jobs");
  const list = h("section", { class: "card grow" }, h("h2", null, "Newest jobs"), running, table.element);
  const drawJobs = () => {
    const rows = [...session.jobs.values()].sort((a, b) => at(b.created_at) - at(a.created_at)).slice(0, 100);
    if (rows.length === 0) {
      fill(list, h("h2", null, "Newest jobs"), empty("No jobs yet. Submit one:", "arcp submit AGENT"));
    } else {
      if (!list.contains(table.element)) fill(list, h("h2", null, "Newest jobs"), running, table.element);
      setText(running, `${rows.filter((row) => !isEnded(row)).length} of these ${rows.length} are not over.`);
      table.set(rows);
    }
  };
  const drawFigures = () => {
    const f = session.figures;
    if (!f) return;
    fill(top, charts(f));
    fill(state, health(f));
  };
  fill(main, h("h1", null, "Overview"),
    h("p", { class: "hint" }, "Signed in as ", foreign(session.principal ?? "?"), session.role === "none" ? "" : `, ${session.role}`,
      session.seesAll ? ". You see the jobs of all principals." : ". You see your own jobs."),
    top, h("div", { class: "split" }, list, state));
  session.addEventListener("jobs", drawJobs);
  session.addEventListener("figures", drawFigures);
  drawJobs();
  drawFigures();
  return () => {
    session.removeEventListener("jobs", drawJobs);
    session.removeEventListener("figures", drawFigures);
    table.close();
  };
}

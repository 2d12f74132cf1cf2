// The first view: what runs, what was refused, and what it costs.
import { h, fill, empty, foreign, setText } from "./dom.js";
import { count, at } from "./format.js";
import { addDecimals } from "./view_money.js";
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

export function show(main, { session }) {
  const top = h("div", { class: "tiles" });
  const running = h("p", { class: "hint" });
  const table = jobTable(session, "Newest jobs");
  const list = h("section", { class: "card grow" }, h("h2", null, "Newest jobs"), running, table.element);
  const drawJobs = () => {
    const rows = [...session.jobs.values()].sort((a, b) => at(b.created_at) - at(a.created_at)).slice(0, 100);
    if (rows.length === 0) {
      fill(list, h("h2", null, "Newest jobs"), empty("No jobs yet. Submit one:", "arcp submit AGENT"));
    } else {
      if (!list.contains(table.element)) fill(list, h("h2", null, "Newest jobs"), running, table.element);
      setText(running, `The figures above count ${rows.length === 1 ? "this job" : `these ${rows.length} jobs`}.`);
      table.set(rows);
      fill(top, tiles(rows));
    }
  };
  fill(main, h("h1", null, "Overview"),
    h("p", { class: "hint" }, "Signed in as ", foreign(session.principal ?? "?"), session.role === "none" ? "" : `, ${session.role}`,
      session.seesAll ? ". You see the jobs of all principals." : ". You see your own jobs."),
    top, list);
  session.addEventListener("jobs", drawJobs);
  drawJobs();
  return () => {
    session.removeEventListener("jobs", drawJobs);
    table.close();
  };
}

// The table of jobs. Its filters are in the address, so that a view can be sent to somebody.
import { h, fill, empty, foreign } from "./dom.js";
import { WindowedTable } from "./window.js";
import { age, at, budget, clockTime, count, dateTime, duration, isEnded, progress, shortId, statusLabel, statusMark, took } from "./format.js";

const PAGE = 200;

export function statusCell(status) {
  return h("span", { class: `status ${status}` }, h("span", { "aria-hidden": "true" }, statusMark(status)), " ", statusLabel(status));
}

/** A table of job rows that opens a job by a click or Enter, and shows the time that passes. */
export function jobTable(session, label) {
  const columns = [
    { label: "Status", className: "w-status" }, { label: "Agent", className: "w-agent" },
    ...(session.seesAll ? [{ label: "Principal", className: "w-principal" }] : []),
    { label: "Age", className: "w-time number" }, { label: "Took", className: "w-time number" },
    { label: "Progress", className: "w-small number" }, { label: "Spent", className: "w-budget" },
    { label: "Denied", className: "w-small number" }, { label: "Outcome", className: "w-code" }, { label: "Job", className: "w-id" }];
  const table = new WindowedTable({
    label, columns,
    key: (row) => row.job_id,
    open: (row) => { location.hash = `#/job/${encodeURIComponent(row.job_id)}`; },
    describe: (row) => (row.status === "error" || row.denials > 0 ? "attention" : ""),
    cells: (row) => {
      const now = Date.now();
      return [statusCell(row.status), foreign(row.agent),
        ...(session.seesAll ? [foreign(row.principal)] : []),
        duration(age(row, now)), row.status === "pending" ? "" : duration(took(row, now)), progress(row.progress), budget(row.budget),
        row.denials ? count(row.denials) : "", row.code ?? (row.waits_for ? `waits for ${row.waits_for}` : ""),
        h("a", { href: `#/job/${encodeURIComponent(row.job_id)}`, title: row.job_id, tabindex: -1 }, shortId(row.job_id))];
    },
  });
  const timer = setInterval(() => table.refresh(), 1000);
  const close = table.close.bind(table);
  table.close = () => { clearInterval(timer); close(); };
  return table;
}

function matches(row, filter) {
  const text = (filter.text ?? "").toLowerCase();
  return (!filter.status?.length || filter.status.includes(row.status)) &&
    (!filter.agent || row.agent === filter.agent || row.agent.split("@")[0] === filter.agent) &&
    (!filter.principal || row.principal === filter.principal) &&
    (!filter.parent || row.parent_job_id === filter.parent) &&
    (!text || [row.job_id, row.agent, row.principal, row.code, row.trace_id].some((value) => value?.toLowerCase().includes(text)));
}

/** The filter that the address has, and the address for a filter. */
function filterOf(query) {
  const filter = {};
  ["agent", "principal", "parent", "text"].forEach((name) => { if (query.get(name)) filter[name] = query.get(name); });
  if (query.get("status")) filter.status = query.get("status").split(",");
  return filter;
}

function addressOf(filter) {
  const query = new URLSearchParams();
  Object.entries(filter).forEach(([name, value]) => { if (value?.length) query.set(name, value); });
  return `#/jobs${query.size ? `?${query}` : ""}`;
}

function filterForm(session, filter, apply) {
  const field = (name, label, type = "text") => h("label", null, label,
    h("input", { name, type, value: filter[name] ?? "", autocomplete: "off", spellcheck: "false" }));
  const status = h("fieldset", { class: "choices" }, h("legend", null, "Status"),
    ["pending", "running", "success", "error", "cancelled", "timed_out"].map((value) => h("label", null,
      h("input", { type: "checkbox", name: "status", value, checked: filter.status?.includes(value) }), statusLabel(value))));
  const form = h("form", { class: "filters", role: "search", on: {
    submit: (event) => { event.preventDefault(); apply(read()); },
    change: () => apply(read()),
  } }, status, field("agent", "Agent"), session.seesAll ? field("principal", "Principal") : null, field("parent", "Parent"), field("text", "Text", "search"),
    h("button", { type: "submit" }, "Filter"), h("button", { type: "button", class: "quiet", on: { click: () => apply({}) } }, "Clear"));
  const read = () => {
    const data = new FormData(form);
    const next = { status: data.getAll("status") };
    ["agent", "principal", "parent", "text"].forEach((name) => { next[name] = (data.get(name) ?? "").trim(); });
    return next;
  };
  return form;
}

export function show(main, { session, query }) {
  const filter = filterOf(query);
  const isFiltered = Object.keys(filter).length > 0;
  const note = h("p", { class: "hint", role: "status" });
  const table = jobTable(session, "Jobs");
  const holder = h("div", { class: "grow" }, table.element);
  const more = h("button", { type: "button", class: "quiet", hidden: true, on: { click: () => load() } }, "Load older jobs");
  const rows = new Map();
  let cursor = null;
  let begun = false;
  const draw = () => {
    const list = [...rows.values()].sort((a, b) => at(b.created_at) - at(a.created_at) || (a.job_id < b.job_id ? 1 : -1));
    if (list.length === 0 && begun) {
      fill(holder, isFiltered ? empty("No job matches this filter.") : empty("No jobs yet. Submit one:", "arcp submit AGENT"));
    } else if (!holder.contains(table.element)) {
      fill(holder, table.element);
    }
    table.set(list);
    note.textContent = `${list.length === 1 ? "1 job" : `${count(list.length)} jobs`}${cursor ? " loaded, and there are older ones" : ""}`;
    more.hidden = !cursor;
  };
  const load = async () => {
    try {
      const answer = await session.ask("jobs", { filter: { ...session.everybody, ...filter }, limit: PAGE, ...(cursor ? { cursor } : {}) });
      answer.jobs.forEach((row) => rows.set(row.job_id, row));
      cursor = answer.next_cursor ?? null;
      begun = true;
      draw();
    } catch (error) {
      if (error.code !== "AWAY") fill(holder, h("p", { class: "bad", role: "alert" }, foreign(error.message)));
    }
  };
  const onJobs = (event) => {
    event.detail.forEach((row) => {
      const whole = session.jobs.get(row.job_id) ?? row;
      if (rows.has(row.job_id) || matches(whole, filter)) rows.set(row.job_id, whole);
    });
    draw();
  };
  fill(main, h("h1", null, "Jobs"),
    filterForm(session, filter, (next) => { location.hash = addressOf(next); }), note, holder, more);
  session.addEventListener("jobs", onJobs);
  load();
  return () => { session.removeEventListener("jobs", onJobs); table.close(); };
}

/** Times of a job as rows of a description list. */
export function times(row) {
  return [["Created", dateTime(row.created_at)], ["Started", row.started_at ? clockTime(row.started_at) : ""],
    ["Ended", isEnded(row) && row.ended_at ? clockTime(row.ended_at) : ""]].filter(([, value]) => value);
}

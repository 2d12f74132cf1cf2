// The table of jobs. Its filters are in the address, so that a view can be sent to somebody.
import { h, fill, empty, foreign, setText } from "./dom.js";
import { WindowedTable } from "./window.js";
import { age, at, budget, clockTime, count, dateTime, duration, expiresIn, isEnded, progress, shortId, statusLabel, statusMark, took } from "./format.js";

const PAGE = 500;
const ROWS_MAX = 50000;
const ROWS_LEFT = 100; // below what is seen, when the next page is asked for

export function statusCell(status) {
  return h("span", { class: `status ${status}` }, h("span", { "aria-hidden": "true" }, statusMark(status)), " ", statusLabel(status));
}

/** A table of job rows that opens a job by a click or Enter, and shows the time that passes. */
export function jobTable(session, label) {
  const columns = [
    { label: "Status", className: "w-status" }, { label: "Agent", className: "w-agent" },
    ...(session.seesAll ? [{ label: "Principal", className: "w-principal" }] : []),
    { label: "Age", className: "w-time number" }, { label: "Took", className: "w-time number" },
    { label: "Progress", className: "w-small number" }, { label: "Spent", className: "w-budget" }, { label: "Lease ends in", className: "w-time number" },
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
        duration(age(row, now)), row.status === "pending" ? "" : duration(took(row, now)), progress(row.progress), budget(row.budget), expiresIn(row, now),
        row.denials ? count(row.denials) : "", row.code ?? (row.waits_for ? `waits for ${row.waits_for}` : ""),
        h("a", { href: `#/job/${encodeURIComponent(row.job_id)}`, title: row.job_id, tabindex: -1 }, shortId(row.job_id))];
    },
  });
  const timer = setInterval(() => table.refresh(), 1000);
  const close = table.close.bind(table);
  table.close = () => { clearInterval(timer); close(); };
  return table;
}

const TEXTS = ["agent", "principal", "parent", "code", "text"];
const TIMES = ["created_after", "created_before"];

/** Whether a name is one of those that a pattern with `*` means. */
const fits = (pattern, name) => new RegExp(`^${pattern.replace(/[\\^$.+?()[\]{}|]/g, "\\$&").replaceAll("*", ".*")}$`, "s").test(name);

function matches(row, filter) {
  const text = (filter.text ?? "").toLowerCase();
  return (!filter.status?.length || filter.status.includes(row.status)) &&
    (!filter.agent || row.agent === filter.agent || row.agent.split("@")[0] === filter.agent) &&
    (!filter.principal || fits(filter.principal, row.principal)) &&
    (!filter.parent || row.parent_job_id === filter.parent) &&
    (!filter.code || row.code === filter.code) &&
    (!filter.created_after || at(row.created_at) > at(filter.created_after)) && (!filter.created_before || at(row.created_at) < at(filter.created_before)) &&
    (!text || [row.job_id, row.agent, row.principal, row.code, row.trace_id].some((value) => value?.toLowerCase().includes(text)));
}

/** The filter that the address has, and the address for a filter. */
function filterOf(query) {
  const filter = {};
  [...TEXTS, ...TIMES].forEach((name) => { if (query.get(name)) filter[name] = query.get(name); });
  if (query.get("status")) filter.status = query.get("status").split(",");
  return filter;
}

function addressOf(filter) {
  const query = new URLSearchParams();
  Object.entries(filter).forEach(([name, value]) => { if (value?.length) query.set(name, value); });
  return `#/jobs${query.size ? `?${query}` : ""}`;
}

/** A time as a field for times has it: in the reader's zone, to the minute. */
function localTime(time) {
  const ms = at(time);
  return Number.isNaN(ms) ? "" : new Date(ms - new Date(ms).getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

function filterForm(session, filter, apply) {
  const field = (name, label, type = "text", value = filter[name] ?? "") => h("label", null, label,
    h("input", { name, type, value, autocomplete: "off", spellcheck: "false" }));
  const status = h("fieldset", { class: "choices" }, h("legend", null, "Status"),
    ["pending", "running", "success", "error", "cancelled", "timed_out"].map((value) => h("label", null,
      h("input", { type: "checkbox", name: "status", value, checked: filter.status?.includes(value) }), statusLabel(value))));
  const form = h("form", { class: "filters", role: "search", on: {
    submit: (event) => { event.preventDefault(); apply(read()); },
    // A time changes with each key; it is taken when its field is left.
    change: ({ target }) => { if (!TIMES.includes(target.name)) apply(read()); },
    focusout: ({ target }) => { if (TIMES.includes(target.name) && location.hash.startsWith("#/jobs")) apply(read()); },
  } }, status, field("agent", "Agent"), session.seesAll ? field("principal", "Principal") : null, field("parent", "Parent"), field("code", "Outcome"), field("text", "Text", "search"),
    field("created_after", "Since", "datetime-local", localTime(filter.created_after)), field("created_before", "Until", "datetime-local", localTime(filter.created_before)),
    h("button", { type: "submit" }, "Filter"), h("button", { type: "button", class: "quiet", on: { click: () => apply({}) } }, "Clear"));
  const read = () => {
    const data = new FormData(form);
    const next = { status: data.getAll("status") };
    TEXTS.forEach((name) => { next[name] = (data.get(name) ?? "").trim(); });
    TIMES.forEach((name) => { next[name] = data.get(name) ? new Date(data.get(name)).toISOString() : ""; });
    return next;
  };
  return form;
}

/** The control of a form that has the focus, as a selector: a new form then gives it to its own. */
function focusIn(main) {
  const { name, type, value } = main.contains(document.activeElement) ? document.activeElement : {};
  return name ? `[name=${name}]${type === "checkbox" ? `[value=${value}]` : ""}` : null;
}

/** Rows in the order of the table, the newest first: each is found, replaced and inserted by its place. */
class JobList {
  constructor() {
    this.rows = [];
    this.created = new Map(); // id -> time
  }

  has(row) { return this.created.has(row.job_id); }

  /** Where the row is, or would be. */
  place(row) {
    const time = at(row.created_at);
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.rows[middle];
      const difference = this.created.get(other.job_id) - time;
      if (difference > 0 || (difference === 0 && other.job_id > row.job_id)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  take(row) {
    const isNew = !this.has(row);
    this.created.set(row.job_id, at(row.created_at));
    this.rows.splice(this.place(row), isNew ? 0 : 1, row);
  }
}

export function show(main, { session, query }) {
  const filter = filterOf(query);
  const isFiltered = Object.keys(filter).length > 0;
  const note = h("p", { class: "hint", role: "status" });
  const table = jobTable(session, "Jobs");
  const problem = h("p", { class: "bad", role: "alert" });
  const holder = h("div", { class: "grow" }, table.element);
  const list = new JobList();
  let cursor = null;
  let begun = false;
  let loading = false;
  const hasMore = () => cursor !== null && list.rows.length < ROWS_MAX;
  const draw = () => {
    const size = list.rows.length;
    if (size === 0 && begun) {
      fill(holder, isFiltered ? empty("No job matches this filter.") : empty("No jobs yet. Submit one:", "arcp submit AGENT"));
    } else if (!holder.contains(table.element)) {
      fill(holder, table.element);
    }
    table.set(list.rows);
    setText(note, `${size === 1 ? "1 job" : `${count(size)} jobs`}${cursor === null ? "" : hasMore() ? " loaded; older ones come as you scroll" : " loaded; use a filter to find older ones"}`);
  };
  const load = async () => {
    loading = true;
    try {
      const answer = await session.ask("jobs", { filter: { ...session.everybody, ...filter }, limit: PAGE, ...(cursor ? { cursor } : {}) });
      answer.jobs.forEach((row) => list.take(session.newest(row)));
      cursor = answer.next_cursor ?? null;
      begun = true;
      fill(problem);
      draw();
    } catch (error) {
      if (error.code !== "AWAY") fill(problem, foreign(error.message));
    } finally {
      loading = false;
    }
  };
  const onScroll = () => {
    const s = table.scroller;
    if (!loading && hasMore() && s.scrollTop + s.clientHeight > s.scrollHeight - ROWS_LEFT * table.rowHeight) load().then(onScroll);
  };
  const onJobs = (event) => {
    event.detail.forEach((row) => {
      const whole = session.jobs.get(row.job_id) ?? row;
      if (list.has(whole) || matches(whole, filter)) list.take(whole);
    });
    draw();
  };
  table.scroller.addEventListener("scroll", onScroll);
  const focused = focusIn(main); // the filter has changed while it is used
  fill(main, h("h1", null, "Jobs"),
    filterForm(session, filter, (next) => { location.hash = addressOf(next); }), note, problem, holder);
  if (focused) main.querySelector(focused)?.focus();
  session.addEventListener("jobs", onJobs);
  load();
  return () => { session.removeEventListener("jobs", onJobs); table.close(); };
}

/** Times of a job as rows of a description list. */
export function times(row) {
  return [["Created", dateTime(row.created_at)], ["Started", row.started_at ? clockTime(row.started_at) : ""],
    ["Ended", isEnded(row) && row.ended_at ? clockTime(row.ended_at) : ""]].filter(([, value]) => value);
}

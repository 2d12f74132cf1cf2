// The events of a job, page by page. While it runs, a subscription says that there are more, and the page asks for those after its newest one.
import { h, fill, link, copyButton, cut, download, jsonText, setText, visible } from "./dom.js";
import { open } from "./dialog.js";
import { WindowedTable } from "./window.js";
import { bytes, clockTime, count, dateTime, isEnded } from "./format.js";

const KEPT_EVENTS = 20000;
const KEPT_BYTES = 16 * 1024 * 1024;
const KINDS_SHOWN = 20; // more share one box: an agent may name any number of them
const TEXT_SHOWN = 2000; // characters of an event in its row; the whole is shown when it is opened
const PAGE = 500;
const PAUSE_MS = 100;
const PAUSE_OF_OTHERS_MS = 2000; // each look of a role into another principal's job is a line of the audit log
const PAUSE_UNTOLD_MS = 2000; // where no subscription is allowed

/** One line of text for an event, as `arcp watch` prints it. */
export function lineOf({ kind, body }) {
  switch (kind) {
    case "log": return body.message;
    case "thought": return body.text;
    case "status": return body.message ? `${body.phase}: ${body.message}` : body.phase;
    case "metric": return `${body.name} = ${body.value}${body.unit ? ` ${body.unit}` : ""}`;
    case "progress": return `${count(body.current)}${body.total ? ` of ${count(body.total)}` : ""}${body.units ? ` ${body.units}` : ""}${body.message ? `: ${body.message}` : ""}`;
    case "tool_call": return `${body.tool} ${JSON.stringify(body.args ?? {})}`;
    case "tool_result": return body.error ? `${body.call_id}: ${body.error.code} ${body.error.message}` : `${body.call_id}: ${JSON.stringify(body.result)}`;
    case "artifact_ref": return `${body.uri} (${body.content_type}${body.byte_size === undefined ? "" : `, ${bytes(body.byte_size)}`})`;
    case "delegate": return `${body.agent} as ${body.child_job_id ?? "?"}`;
    case "result_chunk": return `${count((body.data ?? "").length)} characters${body.more ? "" : ", the last"}`;
    case "job.result": return body.summary ?? JSON.stringify(body.result ?? null);
    case "job.error": return `${body.code}: ${body.message}`;
    default: return JSON.stringify(body);
  }
}

/** Whether a reader should look at it: refused, failed, or logged as such. */
export function isBad({ kind, body }) {
  return kind === "job.error" || (kind === "log" && body.level === "error") || (kind === "tool_result" && body.error !== undefined) ||
    (kind === "status" && body.phase === "denied");
}

/** A stored record as an event. The job's end has the type of its message as kind. */
function eventOf({ position, record: { type, payload } }) {
  const event = { position, kind: payload.kind ?? type, ts: payload.ts ?? payload.completed_at, body: payload.body ?? payload };
  return { ...event, line: String(lineOf(event) ?? ""), size: JSON.stringify(event.body).length };
}

/**
 * The events of one job, as far as this page keeps them: at most 20 000, or 16 MiB. Older ones are asked for again when
 * somebody scrolls to the beginning.
 */
export class EventLog extends EventTarget {
  constructor(session, jobId) {
    super();
    Object.assign(this, { session, jobId, events: [], bytes: 0, hasOlder: false, loading: false });
    this.timer = null;
  }

  /** Loads the newest page, and the live events after it. */
  async start() {
    const page = await this.session.ask("events", { job_id: this.jobId, limit: PAGE });
    this.add(page.events, false);
    this.hasOlder = page.more;
    this.changed();
    if (this.isOver()) return;
    this.onEvent = ({ detail }) => { if (detail === this.jobId) this.wake(this.pause); };
    this.session.addEventListener("event", this.onEvent);
    this.session.request("job.subscribe", { job_id: this.jobId }).then(() => { this.isTold = true; }, () => {}).finally(() => this.wake(0));
  }

  isOver() {
    const row = this.session.jobs.get(this.jobId);
    return row !== undefined && isEnded(row);
  }

  get pause() {
    const row = this.session.jobs.get(this.jobId);
    return row?.principal === undefined || row.principal === this.session.principal ? PAUSE_MS : PAUSE_OF_OTHERS_MS;
  }

  /** Asks for what follows the newest event, while the job runs. */
  async follow() {
    const newest = this.events.length === 0 ? undefined : this.events[this.events.length - 1].position;
    const page = await this.session.ask("events", { job_id: this.jobId, limit: PAGE, after: newest ?? 0 });
    this.add(page.events, false);
    if (page.events.length > 0) this.changed();
    return page.more;
  }

  /** Asks in a moment for what is new, unless that is due anyway. */
  wake(pause) {
    if (this.closed || this.timer !== null) return;
    this.timer = setTimeout(async () => {
      const wasOver = this.isOver();
      const more = await this.follow().catch((error) => error);
      this.timer = null;
      if (more instanceof Error) this.wake(PAUSE_UNTOLD_MS); // a new connection draws the view anew
      else if (more) this.wake(0);
      else if (!this.isTold && !wasOver) this.wake(PAUSE_UNTOLD_MS);
    }, pause);
  }

  async older() {
    if (this.loading || !this.hasOlder || this.events.length === 0) return 0;
    this.loading = true;
    try {
      const page = await this.session.ask("events", { job_id: this.jobId, limit: PAGE, before: this.events[0].position });
      this.hasOlder = page.more;
      this.add(page.events, true);
      this.changed();
      return page.events.length;
    } finally {
      this.loading = false;
    }
  }

  add(records, isOlder) {
    const events = records.map(eventOf);
    events.forEach((event) => { this.bytes += event.size; });
    this.events = isOlder ? [...events, ...this.events] : [...this.events, ...events];
    let gone = Math.max(0, this.events.length - KEPT_EVENTS);
    const at = (i) => this.events[isOlder ? this.events.length - 1 - i : i];
    for (let i = 0; i < gone; i += 1) this.bytes -= at(i).size;
    while (this.bytes > KEPT_BYTES && gone < this.events.length) {
      this.bytes -= at(gone).size;
      gone += 1;
    }
    if (gone === 0) return;
    this.events.splice(isOlder ? this.events.length - gone : 0, gone);
    this.hasOlder = this.hasOlder || !isOlder;
  }

  changed() { this.dispatchEvent(new Event("changed")); }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    this.session.removeEventListener("event", this.onEvent);
    if (this.isTold) this.session.request("job.unsubscribe", { job_id: this.jobId }).catch(() => {});
  }
}

/** The whole of one event, in a dialog. */
function openEvent(event) {
  const raw = jsonText(event.body, 2);
  open(h("form", { method: "dialog", class: "event" },
    h("h2", null, event.kind, " ", h("span", { class: "hint" }, dateTime(event.ts))),
    event.kind === "artifact_ref" ? h("p", null, link(event.body.uri)) : null,
    h("pre", { class: "raw", tabindex: 0, dir: "auto" }, raw),
    h("div", { class: "actions" }, copyButton("Copy", () => raw), h("button", { type: "submit" }, "Close"))));
}

export function show(main, { session, log, jobId }) {
  let search = "";
  const hidden = new Set();
  let paused = false;
  const columns = [{ label: "Time", className: "w-time" }, { label: "Kind", className: "w-kind" }, { label: "Event", className: "w-text" }];
  const table = new WindowedTable({
    label: "Events", columns, rowHeight: 26,
    key: (event) => event.position,
    open: openEvent,
    describe: (event) => (isBad(event) ? "attention" : ""),
    cells: (event) => [h("time", { title: dateTime(event.ts) }, clockTime(event.ts)), h("span", { class: "kind", dir: "auto" }, event.kind),
      h("bdi", { dir: "auto", class: "line" }, cut(event.line, TEXT_SHOWN))],
  });
  table.follow = true;
  const note = h("p", { class: "hint", role: "status" });
  const kinds = h("fieldset", { class: "choices" }, h("legend", null, "Kinds"));
  const known = new Set();
  const kindOf = ({ kind }) => (known.has(kind) || known.size < KINDS_SHOWN ? kind : "other");
  const addKind = (kind) => {
    known.add(kind);
    kinds.append(h("label", null, h("input", { type: "checkbox", checked: true, on: { change: (e) => { if (e.target.checked) hidden.delete(kind); else hidden.add(kind); draw(); } } }), h("bdi", null, cut(kind, 40))));
  };
  const draw = () => {
    const shown = log.events.filter((event) => {
      const kind = kindOf(event);
      if (!known.has(kind)) addKind(kind);
      return !hidden.has(kind) && (search === "" || event.line.toLowerCase().includes(search));
    });
    if (!paused) table.set(shown);
    setText(note, `${count(shown.length)} of ${count(log.events.length)} events${log.hasOlder ? "; older ones are loaded at the beginning of the list" : ""}${paused ? "; paused" : ""}`);
  };
  const pause = h("button", { type: "button", class: "quiet", "aria-pressed": "false", on: { click: () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Continue" : "Pause";
    draw();
  } } }, "Pause");
  // A reader who is at the beginning again before the next frame causes no event of scrolling: hence the loop.
  const onScroll = async () => {
    while (table.scroller.scrollTop === 0 && log.hasOlder && !log.loading) {
      const added = await log.older().catch(() => 0);
      if (added === 0) return;
      table.scroller.scrollTop = added * table.rowHeight;
      await new Promise(requestAnimationFrame);
    }
  };
  table.scroller.addEventListener("scroll", onScroll);
  fill(main, h("div", { class: "filters", role: "search" },
    h("label", null, "Search", h("input", { type: "search", on: { input: (e) => { search = e.target.value.toLowerCase(); draw(); } } })),
    kinds, pause,
    copyButton("Copy all", () => log.events.map((e) => `${e.ts} ${visible(e.kind)} ${visible(e.line)}`).join("\n")),
    h("button", { type: "button", class: "quiet", on: { click: () => download(`${jobId}.jsonl`, `${log.events.map((e) => jsonText({ ts: e.ts, kind: e.kind, body: e.body })).join("\n")}\n`, "application/x-ndjson") } }, "Download")),
    note, h("div", { class: "grow" }, table.element));
  log.addEventListener("changed", draw);
  draw();
  return () => { log.removeEventListener("changed", draw); table.close(); };
}

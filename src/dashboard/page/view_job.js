// One job: what it is, and its tabs.
import { cut, h, fill, foreign, copyButton, download, empty, link, redraw } from "./dom.js";
import { ask } from "./dialog.js";
import { budget, count, bytes, duration, expiresIn, isEnded, progress, shortId, took } from "./format.js";
import { statusCell, times } from "./view_jobs.js";
import { EventLog, show as showEvents } from "./view_events.js";
import { show as showAuthority } from "./view_authority.js";
import { show as showMoney } from "./view_money.js";
import { show as showTree } from "./view_tree.js";
import { show as showTimeline } from "./view_timeline.js";
import { show as showStderr } from "./view_stderr.js";

const LOOK_MS = 5000;
const TABS = [["log", "Log"], ["timeline", "Timeline"], ["authority", "Authority"], ["money", "Money"], ["result", "Result"], ["input", "Input"], ["stderr", "Standard error"], ["tree", "Tree"]];

// What a reader can do about an error: the codes of the protocol.
const ADVICE = {
  PERMISSION_DENIED: "The lease does not grant what the job asked for. Look at Authority, and submit again with a lease that grants it.",
  LEASE_SUBSET_VIOLATION: "A child was given more than its parent has. Delegate with a subset of the parent's lease.",
  LEASE_EXPIRED: "The lease ended before the job. Submit again with a later expiry.",
  BUDGET_EXHAUSTED: "The budget is spent. Submit again with a larger one.",
  TIMEOUT: "The job took longer than max_runtime_sec. Submit again with more time.",
  CANCELLED: "The job was cancelled before its end; the message says by whom and why.",
  AGENT_NOT_AVAILABLE: "The agent is not registered, or this host cannot run it. Look at Agents.",
};

const JSON_ITEMS = 500; // of an array or object
const JSON_OPEN = 300; // items that are shown before anything is opened
const RAW_SHOWN = 256 * 1024; // characters of a text

/** A JSON value as a tree that opens level by level. The first levels are open as far as `room` goes. */
function jsonTree(value, depth = 0, room = { left: JSON_OPEN }) {
  if (value === null || typeof value !== "object") return foreign(JSON.stringify(value), "code");
  const entries = Object.entries(value);
  const name = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0) return h("code", null, Array.isArray(value) ? "[]" : "{}");
  const opens = depth < 2 && entries.length <= room.left;
  if (opens) room.left -= entries.length;
  const details = h("details", { open: opens || depth === 0 }, h("summary", null, name));
  const open = () => {
    if (!details.open || details.childElementCount > 1) return;
    details.append(h("ul", { class: "json" }, entries.slice(0, JSON_ITEMS).map(([key, item]) => h("li", null, foreign(key, "b"), ": ", jsonTree(item, depth + 1, room)))));
    if (entries.length > JSON_ITEMS) details.append(h("p", { class: "hint" }, `The first ${count(JSON_ITEMS)} of ${count(entries.length)}; the download has all.`));
  };
  details.addEventListener("toggle", open);
  open();
  return details;
}

function valueView(value, name) {
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return [typeof value === "string" ? h("pre", { class: "raw", dir: "auto", tabindex: 0 }, foreign(cut(value, RAW_SHOWN))) : jsonTree(value),
    text.length > RAW_SHOWN && typeof value === "string" ? h("p", { class: "hint" }, "The text is longer; the download has all of it.") : null,
    h("div", { class: "actions" }, copyButton("Copy", () => text), h("button", { type: "button", class: "quiet", on: { click: () => download(name, text, "text/plain") } }, "Download"))];
}

function showInput(main, { job }) {
  const { input, truncated } = job();
  fill(main, input === undefined ? empty("The input is not kept any more.") : valueView(input, "input.json"),
    truncated ? h("p", { class: "hint" }, "The runtime keeps the first 4 KiB of an input.") : null);
}

/** The chunks of a streamed result, joined; null if some of them are not loaded. */
function streamed(log) {
  const chunks = log.events.filter((event) => event.kind === "result_chunk");
  if (chunks.length === 0 || chunks[0].body.chunk_seq !== 0) return null;
  const bytesOf = ({ body }) => (body.encoding === "base64" ? Uint8Array.from(atob(body.data), (c) => c.charCodeAt(0)) : new TextEncoder().encode(body.data));
  const parts = chunks.map(bytesOf);
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  parts.reduce((offset, part) => { whole.set(part, offset); return offset + part.length; }, 0);
  return new TextDecoder().decode(whole);
}

function showResult(main, { job, log }) {
  const draw = () => {
    const row = job();
    const end = log.events.findLast((event) => event.kind === "job.result" || event.kind === "job.error");
    const artifacts = log.events.filter((event) => event.kind === "artifact_ref");
    const parts = [];
    if (!isEnded(row)) {
      parts.push(empty("The job is not over: its result comes here."));
    } else if (row.status === "success") {
      if (row.summary) parts.push(h("p", null, foreign(row.summary)));
      if (end?.body.result_id) {
        const text = streamed(log);
        parts.push(text === null ? h("p", { class: "hint" }, `A streamed result of ${bytes(end.body.result_size)}. Fetch it: arcp watch ${row.job_id} --from-start --output FILE`) : valueView(text, "result.txt"));
      } else if (end) {
        parts.push(valueView(end.body.result ?? null, "result.json"));
      }
    } else {
      const error = row.error ?? end?.body ?? { code: row.code, message: "" };
      parts.push(h("div", { class: "card bad-card" }, h("h3", null, error.code), h("p", null, foreign(error.message)),
        h("p", { class: "hint" }, error.retryable ? "The same job may succeed when it is submitted again. " : "", ADVICE[error.code] ?? ""),
        error.details ? jsonTree(error.details) : null));
    }
    if (artifacts.length) {
      parts.push(h("h3", null, "Artifacts"), h("ul", null, artifacts.map(({ body }) => h("li", null, link(body.uri),
        h("span", { class: "hint" }, ` ${body.content_type}${body.byte_size === undefined ? "" : `, ${bytes(body.byte_size)}`}`)))));
    }
    fill(main, parts);
  };
  const onChanged = () => redraw(main, draw);
  log.addEventListener("changed", onChanged);
  draw();
  return () => log.removeEventListener("changed", onChanged);
}

const VIEWS = { log: showEvents, timeline: showTimeline, authority: (main, context) => showAuthority(main, { ...context, job: context.job() }), money: showMoney, result: showResult, input: showInput, stderr: showStderr, tree: showTree };

/** Asks whether a job is to be ended, and why. */
function endJob(session, row) {
  const reason = h("input", { name: "reason", autocomplete: "off", maxlength: 1000 });
  const now = h("input", { type: "checkbox", name: "now" });
  ask({
    title: "End this job?", keep: "Keep it running", verb: "End the job",
    body: [h("p", null, foreign(row.agent), " ", h("code", null, row.job_id), row.children ? ` and its ${count(row.children)} children end as cancelled.` : " ends as cancelled."),
      h("label", null, "Reason (the agent, its watchers and the audit log get it)", reason),
      h("label", { class: "check" }, now, "At once, without the time in which the agent may finish")],
    act: () => session.ask("end", { job_id: row.job_id, reason: reason.value, ...(now.checked ? { grace_ms: 0 } : {}) }),
  });
}

/** What a job is; drawn when that changes. */
function titleOf(session, row) {
  return [h("div", { class: "title" }, h("h1", null, foreign(row.agent)), statusCell(row.status),
    isEnded(row) ? null : h("button", { type: "button", class: "danger", on: { click: () => endJob(session, row) } }, "End…"),
    copyButton("Copy id", () => row.job_id)),
  h("p", { class: "hint" }, h("code", null, row.job_id), row.principal ? [" of ", foreign(row.principal)] : "",
    row.parent_job_id ? [", delegated by ", h("a", { href: `#/job/${encodeURIComponent(row.parent_job_id)}` }, shortId(row.parent_job_id))] : "")];
}

/** What passes while it runs; texts only, because they are drawn each second. */
function factsOf(row) {
  const facts = [...times(row), ["Took", row.status === "pending" ? "" : duration(took(row, Date.now()))], ["Progress", progress(row.progress)],
    ["Spent", budget(row.budget)], ["Lease ends in", expiresIn(row, Date.now())], ["Denied", row.denials ? count(row.denials) : ""], ["Waits for", row.waits_for ?? ""], ["Place in the queue", row.queue_place ?? ""],
    ["Process", row.pid ? `${row.pid}, CPU ${duration(row.cpu_ms)}, ${bytes(row.memory_bytes)}` : ""],
    ["Silent for", !isEnded(row) && row.silent_for_ms !== undefined ? duration(row.silent_for_ms) : ""], ["Trace", row.trace_id ? shortId(row.trace_id) : ""]].filter(([, value]) => value !== "" && value !== null);
  return facts.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)));
}

export function show(main, { session, id, tab }) {
  const current = VIEWS[tab] ? tab : "log";
  const title = h("div");
  const facts = h("dl", { class: "facts" });
  let titled = "";
  const body = h("div", { class: "tab-body", role: "region", "aria-label": TABS.find(([name]) => name === current)[1] });
  const log = new EventLog(session, id);
  let job = null;
  let closeTab = null;
  let closed = false;
  const draw = () => {
    if (!job) return;
    const now = JSON.stringify([job.agent, job.status, job.principal, job.parent_job_id, job.children]);
    if (now !== titled) redraw(title, () => fill(title, titleOf(session, job)));
    titled = now;
    fill(facts, factsOf(job));
  };
  const load = async () => {
    const before = job;
    job = await session.ask("job", { job_id: id });
    session.take(job);
    draw();
    if (before && isEnded(job) && !isEnded(before)) log.changed();
  };
  const onJobs = (event) => {
    const row = event.detail.find((one) => one.job_id === job?.job_id);
    if (!row) return;
    const ends = isEnded(row) && !isEnded(job);
    job = { ...job, ...row };
    draw();
    if (ends) load().then(() => log.changed(), () => {});
  };
  fill(main, title, facts, h("nav", { class: "tabs", "aria-label": "About this job" }, TABS.map(([name, label]) =>
    h("a", { href: `#/job/${encodeURIComponent(id)}/${name}`, "aria-current": name === current ? "page" : null }, label))), body);
  session.addEventListener("jobs", onJobs);
  // What a process uses is no change that is sent. For another principal's job each look would be a line of the audit log.
  let next = setTimeout(function again() {
    if (closed || !job || isEnded(job) || job.principal !== session.principal) return;
    load().catch(() => {}).finally(() => { next = setTimeout(again, LOOK_MS); });
  }, LOOK_MS);
  const timer = setInterval(draw, 1000);
  load().then(() => log.start()).then(() => {
    if (!closed) closeTab = VIEWS[current](body, { session, log, jobId: id, job: () => job });
  }).catch((error) => {
    if (!closed && error.code !== "AWAY") fill(main, h("h1", null, "Job"), h("p", { class: "bad", role: "alert" }, foreign(error.message)), h("p", null, h("a", { href: "#/jobs" }, "All jobs")));
  });
  return () => {
    closed = true;
    clearInterval(timer);
    clearTimeout(next);
    session.removeEventListener("jobs", onJobs);
    log.close();
    closeTab?.();
  };
}


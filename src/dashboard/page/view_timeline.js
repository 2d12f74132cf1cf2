// A job and its children over time: waits, tool calls, model calls and denials, on a canvas. The same is in a table, which screen
// readers and keyboards use.
import { cut, h, fill, foreign, scrolling, visible } from "./dom.js";
import { at, clockTime, duration, isEnded } from "./format.js";

const ROW = 22;
const LABEL_WIDTH = 150;
const SCALE = 20; // height of the times above
const KINDS = [["wait", "waited"], ["job", "the job"], ["child", "a child"], ["tool", "tool call"], ["model", "model call"], ["bad", "denied or failed"]];

/** Spans and moments: { name, from, to, kind }. A tool call ends with its result, or with the job; what has not ended goes on until now. */
function spansOf(job, children, events, now) {
  const spans = [];
  const last = isEnded(job) ? at(job.ended_at) : now;
  const started = at(job.started_at ?? job.created_at);
  if (job.started_at && at(job.created_at) < started) spans.push({ name: "waited to start", from: at(job.created_at), to: started, kind: "wait" });
  spans.push({ name: job.agent, from: started, to: last, kind: "job" });
  children.forEach((child) => spans.push({ name: `${child.agent} (child)`, from: at(child.started_at ?? child.created_at), to: isEnded(child) ? at(child.ended_at) : now, kind: "child" }));
  const calls = new Map();
  events.forEach(({ kind, body, ts }) => {
    if (kind === "tool_call") {
      calls.set(body.call_id, spans.push({ name: body.tool, from: at(ts), to: Math.max(at(ts), last), kind: "tool" }) - 1);
    } else if (kind === "tool_result") {
      const i = calls.get(body.call_id);
      if (i !== undefined) Object.assign(spans[i], { to: at(ts), kind: body.error ? "bad" : "tool" });
    } else if (kind === "metric" && body.name === "cost.inference") {
      spans.push({ name: `${body.dimensions?.model ?? "model"}: ${body.value} ${body.unit ?? ""}`, from: at(ts), to: at(ts), kind: "model" });
    } else if (kind === "status" && body.phase === "denied") {
      spans.push({ name: `denied ${body.capability ?? ""} ${body.target ?? ""}`, from: at(ts), to: at(ts), kind: "bad" });
    }
  });
  return spans.filter((span) => !Number.isNaN(span.from));
}

/** The beginning of a text that has room. */
function fitting(c, text, width) {
  if (c.measureText(cut(text, 60)).width <= width && text.length <= 60) return text;
  let size = Math.min(60, text.length);
  while (size > 1 && c.measureText(`${text.slice(0, size)}…`).width > width) size -= 1;
  return `${text.slice(0, size)}…`;
}

function paint(canvas, spans) {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--t-${name}`).trim();
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = SCALE + spans.length * ROW + 8;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  const c = canvas.getContext("2d");
  c.scale(ratio, ratio);
  c.font = "12px system-ui, sans-serif";
  c.textBaseline = "middle";
  const from = Math.min(...spans.map((span) => span.from));
  const to = Math.max(from + 1, ...spans.map((span) => span.to));
  const label = Math.min(LABEL_WIDTH, width / 3);
  const x = (time) => label + ((time - from) / (to - from)) * (width - label - 8);
  c.fillStyle = color("text");
  const begin = clockTime(new Date(from).toISOString());
  const whole = duration(to - from);
  c.fillText(begin, label, SCALE / 2);
  c.fillText(whole, width - 8 - c.measureText(whole).width, SCALE / 2);
  c.fillStyle = color("wait");
  c.fillRect(label, SCALE, width - label - 8, 1);
  spans.forEach((span, i) => {
    const y = SCALE + i * ROW + 4;
    c.fillStyle = color("text");
    c.fillText(fitting(c, visible(span.name), label - 8), 0, y + ROW / 2);
    c.fillStyle = color(span.kind);
    c.beginPath();
    c.roundRect(x(span.from), y + 4, Math.max(3, x(span.to) - x(span.from)), ROW - 8, 3);
    c.fill();
  });
}

const ROWS_MAX = 500;

export function show(main, { session, job, log }) {
  let children = [];
  const canvas = h("canvas", { class: "timeline", role: "img", "aria-label": "The job over time; the table below says the same." });
  const rows = h("tbody");
  const note = h("p", { class: "hint" });
  const legend = h("ul", { class: "legend", "aria-hidden": "true" }, KINDS.map(([kind, text]) => h("li", null, h("i", { class: `k-${kind}` }), text)));
  fill(main, h("div", { class: "card" }, canvas, legend, note), h("details", null, h("summary", null, "As a table"), scrolling("Timeline", h("table", { class: "plain" },
    h("thead", null, h("tr", null, ["What", "From", "Took"].map((name) => h("th", { scope: "col" }, name)))), rows))));
  const draw = () => {
    const all = spansOf(job(), children, log.events, Date.now());
    const spans = all.slice(0, ROWS_MAX);
    paint(canvas, spans);
    fill(rows, spans.map((span) => h("tr", null, h("td", null, foreign(span.name)), h("td", null, clockTime(new Date(span.from).toISOString())), h("td", { class: "number" }, span.to > span.from ? duration(span.to - span.from) : ""))));
    note.textContent = all.length > ROWS_MAX ? `The first ${ROWS_MAX} of ${all.length}.` : "";
  };
  log.addEventListener("changed", draw);
  const resized = new ResizeObserver(draw);
  resized.observe(canvas.parentElement);
  const timer = setInterval(() => { if (!isEnded(job())) draw(); }, 1000);
  session.ask("jobs", { filter: { ...session.everybody, parent: job().job_id }, order: "oldest", limit: 100 }).then((answer) => { children = answer.jobs; draw(); }, () => {});
  return () => { log.removeEventListener("changed", draw); resized.disconnect(); clearInterval(timer); };
}

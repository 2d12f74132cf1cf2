// Submitting a job: the agent, its input, and its lease, line by line. Before it is submitted, the runtime says what it would grant of each
// line, and how it would enforce it.
import { cut, h, fill, foreign, scrolling, setText } from "./dom.js";
import { verdictText } from "./view_authority.js";
import { count } from "./format.js";

const CAPABILITIES = ["fs.read", "fs.write", "net.fetch", "tool.call", "agent.delegate", "model.use"];
const PATTERNS = { "fs.read": "/srv/data/**", "fs.write": "/srv/out/**", "net.fetch": "https://api.example.com/**", "tool.call": "web.*", "agent.delegate": "summarize", "model.use": "small" };
const EXPLAIN_MS = 400; // after the last change
const ROWS_SHOWN = 200;

/** What was typed stays when the connection is lost. */
export const outlastsConnection = true;

/** What is wrong in one field. */
class Wrong extends Error {
  constructor(input, message) {
    super(message);
    this.input = input;
  }
}

let fields = 0;

/** A field with its label, a hint, and a place for what is wrong with it. */
function field(label, input, hint) {
  fields += 1;
  const problem = h("p", { class: "bad", id: `field-${fields}-problem`, hidden: true });
  const note = hint ? h("p", { class: "hint", id: `field-${fields}-hint` }, hint) : null;
  input.setAttribute("aria-describedby", `${problem.id}${note ? ` ${note.id}` : ""}`);
  input.problem = problem;
  return h("div", { class: "field" }, h("label", null, label, input), note, problem);
}

function mark(input, message) {
  input.problem.hidden = message === "";
  setText(input.problem, message);
  if (message) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

const text = (name, more) => h("input", { name, autocomplete: "off", spellcheck: "false", ...more });

function leaseLine(changed) {
  const capability = text("capability", { list: "capabilities" });
  const pattern = text("pattern", { placeholder: PATTERNS["fs.read"] });
  capability.addEventListener("input", () => { pattern.placeholder = PATTERNS[capability.value] ?? "*"; });
  const row = h("div", { class: "lease-line" }, field("Capability", capability), h("div", { class: "grow" }, field("Pattern", pattern)),
    h("button", { type: "button", class: "quiet", "aria-label": "Remove this line", on: { click: () => { row.remove(); changed(); } } }, "Remove"));
  return Object.assign(row, { capability, pattern });
}

/** The lease of the form. `isStrict`: an unfinished line is wrong; else it is left out. */
function leaseOf(lines, budget, isStrict) {
  const lease = Object.create(null); // a capability may have any name
  [...lines.children].forEach(({ capability, pattern }, i) => {
    const [name, value] = [capability.value.trim(), pattern.value.trim()];
    if (isStrict && name === "") throw new Wrong(capability, `Line ${i + 1} has no capability. Write one, such as fs.read, or remove the line.`);
    if (isStrict && value === "") throw new Wrong(pattern, `Line ${i + 1} has no pattern. Write what ${cut(name, 40)} may be used on, such as ${PATTERNS[name] ?? "*"}, or remove the line.`);
    if (name && value) (lease[name] ??= []).push(value);
  });
  const amount = budget.value.trim();
  if (/^[A-Za-z]+:\d+(\.\d+)?$/.test(amount)) lease["cost.budget"] = [amount];
  else if (isStrict && amount !== "") throw new Wrong(budget, `“${cut(amount, 40)}” is no budget. Write a currency and an amount, such as USD:2.50.`);
  return Object.keys(lease).length ? { lease_request: lease } : {};
}

function constraintsOf(minutes, isStrict) {
  const value = minutes.value.trim();
  if (/^[1-9]\d{0,7}$/.test(value)) return { lease_constraints: { expires_at: new Date(Date.now() + value * 60000).toISOString() } };
  if (isStrict && value !== "") throw new Wrong(minutes, `“${cut(value, 40)}” is no number of minutes. Write a whole number from 1 on, such as 30.`);
  return {};
}

function inputOf(input, mode) {
  if (mode.value === "text") return { input: input.value };
  if (input.value.trim() === "") return {};
  try {
    return { input: JSON.parse(input.value) };
  } catch (error) {
    throw new Wrong(input, `The input is not JSON (${error.message}). Write JSON, such as {"path": "/srv/data"}, or choose Text.`);
  }
}

/** The field that a refusal of the runtime is about; undefined: none of them. */
function refusedField({ code, message }, { agent, minutes, budget, lines }) {
  if (code?.startsWith("AGENT_")) return agent;
  if (/expires_at/.test(message)) return minutes;
  const [, name, index] = /([\w.-]+)\[(\d+)\]/.exec(message) ?? [];
  if (name === "cost.budget") return budget;
  const rows = [...lines.children];
  if (name !== undefined) return rows.filter(({ capability }) => capability.value.trim() === name)[index]?.pattern;
  return rows.find(({ capability }) => message.includes(`unknown capability "${capability.value.trim()}"`))?.capability;
}

/** The lines that were asked for, each with what would become of it. */
function explained(lease, answer) {
  const verdicts = new Map((answer.lines ?? []).map((line) => [`${line.capability}\n${line.pattern}`, line]));
  const granted = new Set(Object.entries(answer.lease).flatMap(([capability, patterns]) => patterns.map((pattern) => `${capability}\n${pattern}`)));
  const asked = Object.entries(lease).flatMap(([capability, patterns]) => patterns.map((pattern) => ({ capability, pattern })));
  const known = new Set(asked.map(({ capability, pattern }) => `${capability}\n${pattern}`));
  const added = Object.entries(answer.lease).flatMap(([capability, patterns]) => patterns.map((pattern) => ({ capability, pattern, isAdded: true })))
    .filter(({ capability, pattern }) => !known.has(`${capability}\n${pattern}`));
  return [...asked, ...added].map((line) => ({ ...line, isGranted: granted.has(`${line.capability}\n${line.pattern}`), verdict: verdicts.get(`${line.capability}\n${line.pattern}`) }));
}

function whyOf(line, answer) {
  if (!line.isGranted) return h("span", { class: "bad" }, "not granted: the operator's policy takes it away");
  const why = line.capability === "cost.budget" ? "limits what the job may spend"
    : answer.level === undefined && answer.runs ? verdictText()
      : verdictText(line.verdict ?? { verdict: answer.level === undefined ? "refused" : "exact" });
  return line.isAdded ? [why, h("span", { class: "hint" }, " (what the operator's policy leaves)")] : why;
}

function explanation(lease, answer) {
  const lines = explained(lease, answer);
  return { sentence: h("span", { class: answer.runs ? "" : "bad" }, answer.runs ? `✓ The job would run${(answer.lines ?? []).some(({ verdict }) => verdict === "refused") ? " with less than the lease says" : ""}` : "✕ The job would be refused: ", answer.runs ? "" : foreign(answer.refusal ?? ""),
      answer.level ? `${answer.runs ? ", in a sandbox" : ". The sandbox here is"} of level ${answer.level}` : answer.runs ? ", without a sandbox: the lease decides only what the agent asks about" : "", "."),
  rows: [lines.length === 0 ? h("p", { class: "hint" }, "The lease has no lines.") : scrolling("What would be granted", h("table", { class: "plain" },
      h("thead", null, h("tr", null, ["Capability", "Pattern", "Enforcement"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", null, lines.slice(0, ROWS_SHOWN).map((line) => h("tr", { class: line.isGranted && line.verdict?.verdict !== "refused" ? "" : "attention" },
        h("th", { scope: "row" }, foreign(line.capability)), h("td", null, foreign(line.pattern, "code")), h("td", null, whyOf(line, answer))))))),
    lines.length > ROWS_SHOWN ? h("p", { class: "hint" }, `The first ${ROWS_SHOWN} of ${count(lines.length)} lines.`) : null] };
}

export function show(main, { session }) {
  const names = (session.agents ?? []).map((agent) => (typeof agent === "string" ? agent : agent.name));
  const agent = text("agent", { list: "agents" });
  const mode = h("select", { name: "mode" }, h("option", { value: "json" }, "JSON"), h("option", { value: "text" }, "Text"));
  const input = h("textarea", { name: "input", rows: 6, spellcheck: "false" });
  const budget = text("budget", { placeholder: "USD:2.50" });
  const minutes = text("minutes", { placeholder: "30", inputmode: "numeric" });
  const lines = h("div", { class: "lease-lines" });
  const sentence = h("p", { role: "status" });
  const rows = h("div");
  const problem = h("p", { class: "bad", role: "alert" });
  const button = h("button", { type: "submit" }, "Submit");
  const all = { agent, minutes, budget, lines };
  let timer = null;
  let asked = 0;
  let closed = false;

  const unmark = () => form.querySelectorAll("[aria-invalid]").forEach((one) => mark(one, ""));
  const say = (error, focuses) => {
    const wrong = error.input ?? refusedField(error, all);
    const known = error.code?.startsWith("AGENT_") && names.length > 0 ? `. This runtime has: ${cut(names.join(", "), 300)}` : "";
    const message = `${error.message}${known}`;
    if (wrong) mark(wrong, message);
    else fill(problem, foreign(error.code ? `${error.code}: ${message}` : message));
    if (wrong && focuses) wrong.focus();
  };
  /** Asks what the runtime would grant. What is unfinished is left out. Without `marks` the fields keep what a submit said of them. */
  const explain = async (marks) => {
    asked += 1;
    const own = asked;
    if (agent.value.trim() === "") { fill(sentence, h("span", { class: "hint" }, "Name an agent to see what it would be granted, and how each line would be enforced.")); fill(rows); return; }
    const request = { agent: agent.value.trim(), ...leaseOf(lines, budget, false), ...constraintsOf(minutes, false) };
    try {
      const answer = await session.ask("explain", request);
      if (own !== asked || closed) return;
      const shown = explanation(request.lease_request ?? {}, answer);
      if (marks) unmark();
      fill(sentence, shown.sentence);
      fill(rows, shown.rows);
    } catch (error) {
      if (own !== asked || closed || error.code === "AWAY") return;
      fill(sentence, h("span", { class: "hint" }, "What would be granted is shown when the fields above are right."));
      fill(rows);
      if (!marks) return;
      unmark();
      say(error, false);
    }
  };
  const changed = () => { clearTimeout(timer); fill(problem); timer = setTimeout(() => explain(true), EXPLAIN_MS); };
  const submit = async (event) => {
    event.preventDefault();
    clearTimeout(timer);
    asked += 1; // an answer that is under way says nothing of the fields any more
    fill(problem);
    unmark();
    button.disabled = true;
    try {
      if (agent.value.trim() === "") throw new Wrong(agent, `Name the agent that does the job${names.length ? `: ${cut(names.join(", "), 300)}` : ""}.`);
      const payload = { agent: agent.value.trim(), ...inputOf(input, mode), ...leaseOf(lines, budget, true), ...constraintsOf(minutes, true), idempotency_key: crypto.randomUUID() };
      const accepted = await session.request("job.submit", payload);
      location.hash = `#/job/${encodeURIComponent(accepted.job_id)}`;
    } catch (error) {
      say(error.code === "AWAY" ? { message: "The connection is lost. Submit again when it is back." } : error, true);
      button.disabled = false;
      explain(false);
    }
  };
  const add = () => {
    const row = leaseLine(changed);
    lines.append(row);
    row.capability.focus();
  };
  const form = h("form", { class: "card", novalidate: true, on: { submit, input: changed } },
    field("Agent", agent), h("datalist", { id: "agents" }, names.map((name) => h("option", { value: name }))),
    field("Input is", mode), field("Input", input, "What the agent gets. The runtime keeps the first 4 KiB to show."),
    h("fieldset", null, h("legend", null, "Lease: what the job may do"),
      h("p", { class: "hint" }, "A job without lines may do nothing that needs a lease. In patterns ", h("code", null, "*"), " stands for a part of a name, ", h("code", null, "**"), " for any names."),
      lines, h("button", { type: "button", class: "quiet", on: { click: add } }, "Add a line")),
    h("datalist", { id: "capabilities" }, CAPABILITIES.map((name) => h("option", { value: name }))),
    h("div", { class: "pair" }, field("Budget", budget, "Without one, costs are not limited."), field("Expires in, minutes", minutes, "Without it, the lease has no expiry.")),
    h("section", { class: "worth", "aria-label": "What would be granted" }, sentence, rows), problem, h("div", { class: "actions" }, button));
  fill(main, h("h1", null, "Submit a job"), h("p", { class: "hint" }, "It runs as ", foreign(session.principal ?? "your principal"), "."), form);
  explain(true);
  agent.focus();
  return () => { closed = true; clearTimeout(timer); };
}

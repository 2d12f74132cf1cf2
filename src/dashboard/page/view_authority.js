// What a job may do, line by line of its lease: what enforces it, how often it was used, what was refused.
import { h, fill, empty, foreign, copyButton, jsonText, scrolling } from "./dom.js";
import { at, count, dateTime, duration } from "./format.js";

const ROWS_SHOWN = 200; // of a long lease, at first and with each look for more
const VERDICTS = {
  exact: "enforced exactly", under: "enforced, and a little less than it grants", advisory: "decided when the agent asks", refused: "not granted: it cannot be enforced here",
};

/** What a verdict means, and why it is not better. Without one the agent runs without a sandbox. */
export function verdictText(line) {
  return line ? [VERDICTS[line.verdict] ?? line.verdict, line.text ? h("span", { class: "hint" }, ` ${line.text}`) : null] : [VERDICTS.advisory, h("span", { class: "hint" }, " the agent runs without a sandbox")];
}

/** The lease's lines: { capability, pattern, verdict, note, uses, lastAt }. */
function linesOf(job) {
  const verdicts = new Map((job.verdicts ?? []).map((line) => [`${line.capability}\n${line.pattern}`, line]));
  const uses = new Map((job.uses ?? []).map(([line, times, last]) => [line, { times, last }]));
  return Object.entries(job.lease ?? {}).flatMap(([capability, patterns]) => patterns.map((pattern) => {
    const verdict = verdicts.get(`${capability}\n${pattern}`);
    const use = uses.get(`${capability}=${pattern}`);
    // What the kernel decides without the gate is not counted.
    const isCounted = use !== undefined || verdict === undefined || verdict.verdict === "advisory";
    return { capability, pattern, verdict, uses: isCounted ? use?.times ?? 0 : null, last: use?.last };
  }));
}

function countdown(job) {
  const expires = job.lease_constraints?.expires_at ?? job.expires_at;
  if (!expires) return h("p", { class: "hint" }, "The lease has no expiry.");
  const text = h("strong");
  const draw = () => {
    const left = at(expires) - Date.now();
    text.textContent = left > 0 ? duration(left) : "expired";
  };
  draw();
  const timer = setInterval(() => (text.isConnected ? draw() : clearInterval(timer)), 1000);
  return h("p", null, "The lease expires at ", h("time", { datetime: expires }, dateTime(expires)), ", in ", text, ".");
}

/** Elements of a list, some at a time. `make(item)` returns one. */
function byAndBy(parent, items, make) {
  let shown = 0;
  const more = h("button", { type: "button", class: "quiet" });
  const show = () => {
    parent.append(...items.slice(shown, shown + ROWS_SHOWN).map(make));
    shown = Math.min(items.length, shown + ROWS_SHOWN);
    more.hidden = shown === items.length;
    more.textContent = `Show more: ${count(items.length - shown)} are left`;
  };
  more.addEventListener("click", show);
  show();
  return more;
}

function narrowed(job) {
  const parent = job.parent_lease;
  if (!parent) return null;
  const removed = Object.entries(parent).flatMap(([capability, patterns]) => {
    const own = new Set(job.lease?.[capability] ?? []);
    return patterns.filter((pattern) => !own.has(pattern)).map((pattern) => [capability, pattern]);
  });
  const list = h("ul");
  const more = byAndBy(list, removed, ([capability, pattern]) => h("li", null, capability, ": ", foreign(pattern, "code")));
  return h("section", { class: "card" }, h("h3", null, "Narrowed by delegation"),
    removed.length === 0 ? h("p", null, "The job has every line of its parent's lease.")
      : [h("p", { class: "hint" }, "Lines of the parent's lease that this job does not have as they are:"), list, more]);
}

/** The line that would allow a target. One with `*` would allow more than was refused, since patterns have no escapes. */
function suggestion(row) {
  return row.target && !row.target.includes("*") ? copyButton("Copy as lease line", () => jsonText({ [row.capability]: [row.target] })) : "";
}

function refusals(job) {
  const rows = job.refused ?? [];
  return h("section", { class: "card" }, h("h3", null, "Refused"),
    rows.length === 0 ? empty("Nothing was refused.") : scrolling("Refused", h("table", { class: "plain" },
      h("thead", null, h("tr", null, ["Capability", "Target", "Why", "By", "When", ""].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", null, rows.map((row) => h("tr", null, h("td", null, row.capability), h("td", null, foreign(row.target, "code")), h("td", null, row.code),
        h("td", null, row.layer ?? "gate"), h("td", { class: "time" }, dateTime(row.at)),
        h("td", null, suggestion(row))))))));
}

export function show(main, { job }) {
  const lines = linesOf(job);
  const body = h("tbody");
  const more = byAndBy(body, lines, (line) => h("tr", null, h("th", { scope: "row" }, line.capability), h("td", null, foreign(line.pattern, "code")),
    h("td", null, line.capability === "cost.budget" ? "" : verdictText(line.verdict)),
    h("td", { class: "number" }, line.uses === null ? h("span", { class: "hint", title: "The kernel decides this line, and does not count." }, "not counted") : count(line.uses)),
    h("td", { class: "time" }, line.last ? dateTime(line.last) : "")));
  fill(main, countdown(job),
    h("section", { class: "card" }, h("h3", null, "Lease"),
      lines.length === 0 ? empty("The lease is empty: it grants nothing.") : [scrolling("Lease", h("table", { class: "plain" },
        h("thead", null, h("tr", null, ["Capability", "Pattern", "Enforcement", "Used", "Last use"].map((name) => h("th", { scope: "col", class: name === "Used" ? "number" : null }, name)))),
        body)), more],
      h("div", { class: "actions" }, copyButton("Copy the lease", () => jsonText(job.lease ?? {}, 2)))),
    narrowed(job), refusals(job));
}

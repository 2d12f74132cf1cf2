// Submitting a job: the agent, its input, and its lease, line by line.
import { h, fill, foreign } from "./dom.js";

const CAPABILITIES = ["fs.read", "fs.write", "net.fetch", "tool.call", "agent.delegate", "model.use"];

function leaseLine(remove) {
  const row = h("div", { class: "lease-line" },
    h("label", null, "Capability", h("input", { name: "capability", list: "capabilities", required: true, autocomplete: "off", spellcheck: "false" })),
    h("label", { class: "grow" }, "Pattern", h("input", { name: "pattern", required: true, autocomplete: "off", spellcheck: "false", placeholder: "/srv/data/**" })),
    h("button", { type: "button", class: "quiet", "aria-label": "Remove this line", on: { click: () => remove(row) } }, "Remove"));
  return row;
}

/** The payload of job.submit, or an Error that names the field. */
function payloadOf(form, mode) {
  const data = new FormData(form);
  const text = data.get("input") ?? "";
  const payload = { agent: data.get("agent").trim() };
  if (mode === "text") {
    payload.input = text;
  } else if (text.trim() !== "") {
    try {
      payload.input = JSON.parse(text);
    } catch (error) {
      throw new Error(`Input: not JSON (${error.message}). Choose "Text" to send it as it is.`);
    }
  }
  const lease = {};
  const patterns = data.getAll("pattern");
  data.getAll("capability").forEach((capability, i) => { (lease[capability.trim()] ??= []).push(patterns[i].trim()); });
  const budget = (data.get("budget") ?? "").trim();
  if (budget) {
    if (!/^[A-Za-z]+:\d+(\.\d+)?$/.test(budget)) throw new Error("Budget: write it as CURRENCY:AMOUNT, such as USD:2.50.");
    lease["cost.budget"] = [budget];
  }
  if (Object.keys(lease).length) payload.lease_request = lease;
  const minutes = Number(data.get("minutes"));
  if (minutes > 0) payload.lease_constraints = { expires_at: new Date(Date.now() + minutes * 60000).toISOString() };
  payload.idempotency_key = crypto.randomUUID();
  return payload;
}

export function show(main, { session }) {
  const names = (session.agents ?? []).map((agent) => (typeof agent === "string" ? agent : agent.name));
  const lines = h("div", { class: "lease-lines" });
  const remove = (row) => row.remove();
  const problem = h("p", { class: "bad", role: "alert", hidden: true });
  const say = (text) => { problem.textContent = text; problem.hidden = false; };
  const mode = h("select", { name: "mode", id: "mode" }, h("option", { value: "json" }, "JSON"), h("option", { value: "text" }, "Text"));
  const button = h("button", { type: "submit" }, "Submit");
  const form = h("form", { class: "card", on: { submit: async (event) => {
    event.preventDefault();
    problem.hidden = true;
    button.disabled = true;
    try {
      const accepted = await session.wire.request("job.submit", payloadOf(form, mode.value));
      location.hash = `#/job/${encodeURIComponent(accepted.job_id)}`;
    } catch (error) {
      say(error.code ? `${error.code}: ${error.message}` : error.message);
      button.disabled = false;
    }
  } } },
    h("label", null, "Agent", h("input", { name: "agent", list: "agents", required: true, autocomplete: "off", spellcheck: "false" })),
    h("datalist", { id: "agents" }, names.map((name) => h("option", { value: name }))),
    h("label", { for: "mode" }, "Input is"), mode,
    h("label", null, "Input", h("textarea", { name: "input", rows: 6, spellcheck: "false" })),
    h("fieldset", null, h("legend", null, "Lease: what the job may do"),
      h("p", { class: "hint" }, "A job without lines may do nothing that needs a lease. Patterns: ", h("code", null, "*"), " within a name, ", h("code", null, "**"), " across names."),
      lines,
      h("button", { type: "button", class: "quiet", on: { click: () => { const row = leaseLine(remove); lines.append(row); row.querySelector("input").focus(); } } }, "Add a line")),
    h("datalist", { id: "capabilities" }, CAPABILITIES.map((name) => h("option", { value: name }))),
    h("div", { class: "pair" },
      h("label", null, "Budget", h("input", { name: "budget", placeholder: "USD:2.50", autocomplete: "off", spellcheck: "false" })),
      h("label", null, "Expires in, minutes", h("input", { name: "minutes", type: "number", min: 1, step: 1 }))),
    problem,
    h("div", { class: "actions" }, button));
  fill(main, h("h1", null, "Submit a job"), h("p", { class: "hint" }, "It runs as ", foreign(session.principal ?? "your principal"), "."), form);
  form.querySelector("input").focus();
}

// The agents of this runtime, and what their jobs did.
import { h, fill, empty, foreign, redraw, scrolling } from "./dom.js";
import { count, isEnded } from "./format.js";

export function show(main, { session }) {
  const draw = () => {
    const uses = new Map();
    session.jobs.forEach((row) => {
      const name = row.agent.split("@")[0];
      const use = uses.get(name) ?? { running: 0, ended: 0, failed: 0, denials: 0 };
      use.running += isEnded(row) ? 0 : 1;
      use.ended += isEnded(row) ? 1 : 0;
      use.failed += row.status === "error" || row.status === "timed_out" ? 1 : 0;
      use.denials += row.denials ?? 0;
      uses.set(name, use);
    });
    const agents = (session.agents ?? []).map((agent) => (typeof agent === "string" ? { name: agent } : agent));
    fill(main, h("h1", null, "Agents"),
      h("p", { class: "hint" }, "The counts are those of the newest jobs that this page has loaded."),
      agents.length === 0 ? empty("This runtime has no agents. Give it one:", "arcpd --agent NAME=COMMAND") : scrolling("Agents", h("table", { class: "plain" },
        h("thead", null, h("tr", null, ["Agent", "Versions", "Sandbox", "Running", "Ended", "Failed", "Denied"].map((name, i) => h("th", { scope: "col", class: i > 2 ? "number" : null }, name)))),
        h("tbody", null, agents.map((agent) => {
          const use = uses.get(agent.name) ?? { running: 0, ended: 0, failed: 0, denials: 0 };
          return h("tr", null, h("th", { scope: "row" }, h("a", { href: `#/jobs?agent=${encodeURIComponent(agent.name)}` }, foreign(agent.name))),
            h("td", null, (agent.versions ?? []).map((version) => h("span", { class: "tag" }, foreign(version), version === agent.default ? " (default)" : ""))),
            h("td", null, agent["x-vendor.arcpd.unconfined"] ? h("span", { class: "bad" }, "none: has the rights of its user") : "from each job's lease, unless enforce.mode is off"),
            [use.running, use.ended, use.failed, use.denials].map((value) => h("td", { class: "number" }, count(value))));
        })))));
  };
  const onJobs = () => redraw(main, draw);
  session.addEventListener("jobs", onJobs);
  draw();
  return () => session.removeEventListener("jobs", onJobs);
}

// Jobs that are made at due times: when the next one is, and what became of the last.
import { h, foreign } from "./dom.js";
import { showListing } from "./listing.js";
import { dateTime, shortId } from "./format.js";

export function show(main, { session }) {
  const cells = (row) => [foreign(row.name), h("a", { href: `#/jobs?agent=${encodeURIComponent(row.agent)}` }, foreign(row.agent)), foreign(row.principal),
    [dateTime(row.next_due), row.waiting ? h("span", { class: "tag" }, "a due time waits for its job") : ""], dateTime(row.last_due),
    row.last_job ? h("a", { href: `#/job/${encodeURIComponent(row.last_job)}` }, shortId(row.last_job)) : ""];
  return showListing(main, { session, title: "Schedules", request: "schedules", rows: "schedules", noun: "schedule", cells,
    about: session.seesAll ? "Schedules of all principals." : "Your schedules.",
    columns: [{ label: "Schedule" }, { label: "Agent" }, { label: "Principal" }, { label: "Next due", className: "time" }, { label: "Last due", className: "time" }, { label: "Last job" }],
    nothing: ["No schedules. They are in the configuration:", "schedules: [{name: NAME, cron: \"30 2 * * *\", agent: AGENT, principal: PRINCIPAL}]"] });
}

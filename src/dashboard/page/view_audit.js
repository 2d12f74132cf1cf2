// The newest lines of the audit log, and whether its chain is whole. For roles.
import { h, fill, empty, foreign, scrolling } from "./dom.js";
import { count, dateTime, shortId } from "./format.js";

export function show(main, { session }) {
  fill(main, h("h1", null, "Audit"), h("p", { class: "hint" }, "Loading…"));
  session.ask("audit", { limit: 500 }).then((answer) => {
    const rows = answer.lines ?? [];
    fill(main, h("h1", null, "Audit"),
      h("p", { class: "hint" }, "The newest 500 decisions of this arcpd when the view was opened. Older ones: ", h("code", null, "arcp audit grep")),
      answer.chain === null ? h("p", { class: "bad" }, "This arcpd writes no audit log.") : h("p", { class: answer.chain.failing ? "bad" : "" },
        answer.chain.failing ? "The audit log cannot be written. " : "", `The file ends with line ${count(answer.chain.seq)}.`, answer.chain.lost ? ` ${count(answer.chain.lost)} lines were lost.` : ""),
      rows.length === 0 ? empty("No decisions yet.") : scrolling("Decisions", h("table", { class: "plain" },
        h("thead", null, h("tr", null, ["Time", "Event", "Decision", "Principal", "Job", "About"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", null, rows.map((line) => h("tr", { class: line.decision === "denied" ? "attention" : "" }, h("td", { class: "time" }, dateTime(line.ts)),
          h("td", null, line.event), h("td", null, line.decision), h("td", null, foreign(line.principal)),
          h("td", null, line.job_id ? h("a", { href: `#/job/${encodeURIComponent(line.job_id)}` }, foreign(shortId(line.job_id))) : ""),
          h("td", null, foreign([line.request, line.capability, line.target, line.code, line.reason].filter(Boolean).join(" ")))))))));
  }).catch((error) => fill(main, h("h1", null, "Audit"), h("p", { class: "bad", role: "alert" }, foreign(error.message))));
}

// A job's delegation: its parents, its children, and what each has spent.
import { h, fill, foreign } from "./dom.js";
import { budget, shortId } from "./format.js";
import { statusCell } from "./view_jobs.js";

const DEPTH_MAX = 9; // levels that a runtime allows by default, and one

async function childrenOf(session, row, depth) {
  if (!row.children || depth >= DEPTH_MAX) return [];
  const { jobs } = await session.ask("jobs", { filter: { ...session.everybody, parent: row.job_id }, limit: 100, order: "oldest" });
  return Promise.all(jobs.map(async (child) => ({ row: child, children: await childrenOf(session, child, depth + 1) })));
}

async function rootOf(session, row) {
  let at = row;
  for (let i = 0; i < DEPTH_MAX && at.parent_job_id; i += 1) {
    try {
      at = await session.ask("job", { job_id: at.parent_job_id });
    } catch {
      break; // the parent is not kept any more
    }
  }
  return at;
}

function node({ row, children }, current) {
  return h("li", { role: "treeitem", "aria-expanded": children.length ? "true" : null, "aria-selected": String(row.job_id === current) },
    h("span", { class: `leaf ${row.job_id === current ? "selected" : ""}` }, statusCell(row.status), " ",
      h("a", { href: `#/job/${encodeURIComponent(row.job_id)}/tree` }, foreign(row.agent), " ", h("span", { class: "hint" }, shortId(row.job_id))),
      h("span", { class: "number" }, budget(row.budget))),
    children.length ? h("ul", { role: "group" }, children.map((child) => node(child, current))) : null);
}

export function show(main, { session, job }) {
  fill(main, h("p", { class: "hint" }, "Loading…"));
  (async () => {
    const root = await rootOf(session, job());
    const tree = { row: root, children: await childrenOf(session, root, 0) };
    fill(main, h("ul", { role: "tree", class: "tree", "aria-label": "Delegation" }, node(tree, job().job_id)),
      tree.children.length === 0 ? h("p", { class: "hint" }, "This job has delegated nothing.") : null);
  })().catch((error) => fill(main, h("p", { class: "bad", role: "alert" }, foreign(error.message))));
}

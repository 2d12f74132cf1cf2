// A job's delegation: its parents, its children, and what each has spent.
import { h, fill, foreign } from "./dom.js";
import { budget, shortId } from "./format.js";
import { statusCell } from "./view_jobs.js";

const DEPTH_MAX = 9; // levels that a runtime allows by default, and one
const NODES_MAX = 500;
const REQUESTS_MAX = 40; // a job may have thousands of descendants: those nearest to the root are shown

/** The tree below a root, level by level. `isWhole` is false where the bounds above left jobs out. */
async function treeOf(session, root) {
  const tree = { row: root, children: [] };
  let level = [tree];
  let nodes = 1;
  let requests = 0;
  let isWhole = true;
  for (let depth = 0; level.length > 0 && depth < DEPTH_MAX; depth += 1) {
    const next = [];
    for (const parent of level.filter(({ row }) => row.children > 0)) {
      if (nodes >= NODES_MAX || requests === REQUESTS_MAX) return { tree, isWhole: false };
      requests += 1;
      const answer = await session.ask("jobs", { filter: { ...session.everybody, parent: parent.row.job_id }, limit: Math.min(100, NODES_MAX - nodes), order: "oldest" });
      parent.children = answer.jobs.map((row) => ({ row, children: [] }));
      nodes += answer.jobs.length;
      isWhole = isWhole && (answer.next_cursor ?? null) === null;
      next.push(...parent.children);
    }
    level = next;
  }
  return { tree, isWhole };
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
  return h("li", null,
    h("span", { class: `leaf ${row.job_id === current ? "selected" : ""}`, "aria-current": row.job_id === current ? "true" : null }, statusCell(row.status), " ",
      h("a", { href: `#/job/${encodeURIComponent(row.job_id)}/tree` }, foreign(row.agent), " ", h("span", { class: "hint" }, shortId(row.job_id))),
      h("span", { class: "number" }, budget(row.budget))),
    children.length ? h("ul", null, children.map((child) => node(child, current))) : null);
}

export function show(main, { session, job }) {
  let closed = false;
  fill(main, h("p", { class: "hint" }, "Loading…"));
  (async () => {
    const { tree, isWhole } = await treeOf(session, await rootOf(session, job()));
    if (closed) return;
    fill(main, h("ul", { class: "tree", "aria-label": "Delegation" }, node(tree, job().job_id)),
      tree.children.length === 0 ? h("p", { class: "hint" }, "This job has delegated nothing.") : null,
      isWhole ? null : h("p", { class: "hint" }, "Not all descendants are shown. The filter Parent of ", h("a", { href: `#/jobs?parent=${encodeURIComponent(job().job_id)}` }, "Jobs"), " lists the children of a job."));
  })().catch((error) => { if (!closed && error.code !== "AWAY") fill(main, h("p", { class: "bad", role: "alert" }, foreign(error.message))); });
  return () => { closed = true; };
}

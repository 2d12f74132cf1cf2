// A view of rows that the runtime lists page by page, and that do not change by themselves here: the page shows one page of them, as it was
// at a time. For roles each look is a line of the audit log, so the reader decides when to look again.
import { h, fill, empty, foreign, scrolling } from "./dom.js";
import { clockTime, count } from "./format.js";

const PAGE = 100;

/**
 * `request` is the request's name and `rows` that of the rows in its answer; `columns`: [{ label, className }]; `cells(row, again)` returns
 * their content, in the columns' order, and calls `again` when it has changed something. `nothing`: what an empty list shows. Rows for which
 * `isShown` is false are only counted.
 */
export function showListing(main, { session, title, about, request, rows, noun, columns, cells, nothing, isShown = () => true }) {
  const note = h("p", { class: "hint", role: "status" });
  const body = h("div");
  const cursors = [undefined]; // of the pages up to the one that is shown
  let closed = false;
  const button = (label, click, hidden) => h("button", { type: "button", class: "quiet", hidden, on: { click } }, label);
  const draw = (answer) => {
    const all = answer[rows] ?? [];
    const list = all.filter(isShown);
    const hidden = all.length - list.length;
    const next = answer.next_cursor ?? null;
    note.textContent = `${count(list.length)} ${list.length === 1 ? noun : `${noun}s`}${cursors.length > 1 ? `, page ${cursors.length}` : ""}, as of ${clockTime(new Date().toISOString())}${hidden ? `; ${count(hidden)} that are closed and have no jobs are not shown` : ""}`;
    fill(body, list.length === 0 ? empty(...nothing) : scrolling(title, h("table", { class: "plain" },
      h("thead", null, h("tr", null, columns.map(({ label, className }) => h("th", { scope: "col", class: className }, label)))),
      h("tbody", null, list.map((row) => h("tr", null, cells(row, load).map((cell, i) => h(i === 0 ? "th" : "td", { scope: i === 0 ? "row" : null, class: columns[i].className }, cell))))))),
      h("div", { class: "actions" }, button("Look again", load), button("First page", () => { cursors.length = 1; load(); }, cursors.length === 1),
        button("Next page", () => { cursors.push(next); load(); }, next === null)));
  };
  const load = async () => {
    try {
      const cursor = cursors[cursors.length - 1];
      const answer = await session.ask(request, { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
      if (!closed) draw(answer);
    } catch (error) {
      if (!closed && error.code !== "AWAY") fill(body, h("p", { class: "bad", role: "alert" }, foreign(error.message)));
    }
  };
  fill(main, h("h1", null, title), h("p", { class: "hint" }, about), note, body);
  load();
  return () => { closed = true; };
}

// The notifications that wait to be delivered by hooks, and what operators decide about one. For roles.
import { h, foreign } from "./dom.js";
import { ask } from "./dialog.js";
import { showListing } from "./listing.js";
import { count, dateTime, shortId } from "./format.js";

function drop(session, row, again) {
  ask({
    title: "Drop this notification?", keep: "Keep it", verb: "Drop it",
    body: h("p", null, h("code", null, row.id), " of the hook ", foreign(row.hook), " is removed, and not delivered."),
    act: async () => { await session.ask("drop_notification", { id: row.id }); again(); },
  });
}

function retryButton(session, row, again) {
  const problem = h("span", { class: "bad", role: "alert" });
  return [h("button", { type: "button", class: "quiet", "aria-label": `Retry ${row.id}`, on: { click: async () => {
    try {
      await session.ask("retry_notification", { id: row.id });
      again();
    } catch (error) {
      problem.textContent = error.message;
    }
  } } }, "Retry"), problem];
}

export function show(main, { session }) {
  const cells = (row, again) => [
    h("code", { title: row.id }, shortId(row.id)), foreign(row.hook), row.event,
    row.job_id ? h("a", { href: `#/job/${encodeURIComponent(row.job_id)}` }, shortId(row.job_id)) : "",
    row.state === "failed" ? h("span", { class: "bad" }, "✕ failed") : row.state, count(row.tries), dateTime(row.at), dateTime(row.next_at),
    [foreign(row.target ?? ""), row.last_error ? h("div", { class: "bad" }, foreign(row.last_error)) : ""],
    session.isOperator ? h("div", { class: "row-actions" }, retryButton(session, row, again),
      h("button", { type: "button", class: "danger", "aria-label": `Drop ${row.id}`, on: { click: () => drop(session, row, again) } }, "Drop…")) : ""];
  return showListing(main, { session, title: "Hooks", request: "hooks", rows: "notifications", noun: "notification", cells,
    about: "Notifications that hooks have not delivered yet, the oldest first. Each is tried again for 24 hours, and then stays as failed.",
    columns: [{ label: "Notification" }, { label: "Hook" }, { label: "Event" }, { label: "Job" }, { label: "State" }, { label: "Tries", className: "number" },
      { label: "Made", className: "time" }, { label: "Next try", className: "time" }, { label: "Target, last error" }, { label: "Actions" }],
    nothing: ["No notification waits. Hooks are in the configuration:", "hooks: [{name: NAME, on: [end], url: \"https://HOST/PATH\"}]"] });
}

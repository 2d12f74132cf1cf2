// The sessions of all principals, and ending them. For roles.
import { h, foreign, copyButton } from "./dom.js";
import { ask } from "./dialog.js";
import { showListing } from "./listing.js";
import { bytes, count, dateTime, shortId } from "./format.js";

function endSession(session, row, again) {
  const all = h("input", { type: "checkbox", name: "all" });
  ask({
    title: "End this session?", keep: "Keep it", verb: "End the session",
    body: [h("p", null, h("code", null, row.session_id), " of ", foreign(row.principal), ". It cannot be resumed; its jobs go on."),
      h("label", { class: "check" }, all, "All sessions of this principal, and the sign-ins of its browsers")],
    act: async () => {
      await session.ask("end_session", all.checked ? { principal: row.principal } : { session_id: row.session_id });
      again();
    },
  });
}

export function show(main, { session }) {
  const cells = (row, again) => [
    [h("code", { title: row.session_id }, shortId(row.session_id)), row.session_id === session.id ? h("span", { class: "tag" }, "this page") : ""],
    [foreign(row.principal), " ", row.role ? h("span", { class: "tag" }, row.role) : ""],
    row.state, foreign(row.client ? `${row.client} ${row.client_version ?? ""}` : ""), foreign(row.peer ?? ""), dateTime(row.since), dateTime(row.last_frame_at),
    count(row.jobs), bytes(row.unsent_bytes),
    h("div", { class: "row-actions" }, copyButton("Copy id", () => row.session_id),
      session.isOperator && row.session_id !== session.id
        ? h("button", { type: "button", class: "danger", "aria-label": `End ${shortId(row.session_id)} of ${row.principal}`, on: { click: () => endSession(session, row, again) } }, "End…") : null)];
  return showListing(main, { session, title: "Sessions", request: "sessions", rows: "sessions", noun: "session", cells,
    about: "Connections of clients, and those that may still be resumed. A session that ends leaves its jobs running.",
    columns: [{ label: "Session" }, { label: "Principal" }, { label: "State" }, { label: "Client" }, { label: "Address" }, { label: "Since", className: "time" },
      { label: "Last frame", className: "time" }, { label: "Jobs", className: "number" }, { label: "Unsent", className: "number" }, { label: "Actions" }],
    nothing: ["There are no sessions."], isShown: (row) => row.state !== "closed" || row.jobs > 0 });
}

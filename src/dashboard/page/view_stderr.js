// What a job's agent wrote to standard error: the end of it, which the runtime keeps in memory.
import { h, fill, empty, foreign, copyButton, download } from "./dom.js";
import { clockTime, count, isEnded } from "./format.js";

const LINES = 1000;
const LOOK_MS = 2000; // of the reader's own job, while it runs; each look into another's is a line of the audit log

function note({ lines, first_line: first, text }) {
  const shown = text.split("\n").length - 1;
  return `${count(lines)} ${lines === 1 ? "line" : "lines"}${shown < lines ? `, of which those from ${count(first)} on are shown` : ""}, as of ${clockTime(new Date().toISOString())}`;
}

export function show(main, { session, job, jobId }) {
  let timer = null;
  let closed = false;
  let text = "";
  const status = h("p", { class: "hint", role: "status" });
  const body = h("div");
  const look = async () => {
    clearTimeout(timer);
    const wasOver = isEnded(job());
    try {
      const answer = await session.ask("stderr", { job_id: jobId, lines: LINES });
      if (closed) return;
      status.textContent = note(answer);
      if (answer.text !== text || body.childElementCount === 0) {
        text = answer.text;
        fill(body, text === "" ? empty("The agent has written nothing to standard error that is still kept.") : h("pre", { class: "raw", dir: "auto", tabindex: 0 }, foreign(text)));
      }
    } catch (error) {
      if (!closed && error.code !== "AWAY") fill(body, h("p", { class: "bad", role: "alert" }, foreign(error.message)));
      return;
    }
    if (!wasOver && job().principal === session.principal) timer = setTimeout(look, LOOK_MS);
  };
  fill(main, status, body, h("div", { class: "actions" }, h("button", { type: "button", class: "quiet", on: { click: look } }, "Look again"),
    copyButton("Copy", () => text), h("button", { type: "button", class: "quiet", on: { click: () => download(`${jobId}.stderr.txt`, text, "text/plain") } }, "Download")));
  look();
  return () => { closed = true; clearTimeout(timer); };
}

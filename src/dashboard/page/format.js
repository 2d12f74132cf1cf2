// Numbers, times and names for people.

export const ENDED = ["success", "error", "cancelled", "timed_out"];
export const isEnded = (row) => ENDED.includes(row.status);

const LABELS = { pending: "waiting", running: "running", success: "success", error: "error", cancelled: "cancelled", timed_out: "timed out" };
// A status is never shown by its colour alone: it has a mark and a word.
const MARKS = { pending: "◌", running: "▶", success: "✓", error: "✕", cancelled: "■", timed_out: "⧖" };

export const statusLabel = (status) => LABELS[status] ?? status;
export const statusMark = (status) => MARKS[status] ?? "·";

export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "";
  if (ms < 0) ms = 0;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} m ${Math.floor(s % 60)} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} m`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

export const at = (time) => (time ? Date.parse(time) : NaN);
export const age = (row, now) => now - at(row.created_at);
export const took = (row, now) => (isEnded(row) ? at(row.ended_at) : now) - at(row.started_at ?? row.created_at);

/** How long the lease of a job that has not ended is still valid. */
export const expiresIn = (row, now) => (isEnded(row) || Number.isNaN(at(row.expires_at)) ? "" : at(row.expires_at) > now ? duration(at(row.expires_at) - now) : "expired");

// 24 hours, as in logs: the same width for each time.
const clock = new Intl.DateTimeFormat(undefined, { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const short = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

/** The time in the reader's zone. */
export const dateTime = (time) => (Number.isNaN(at(time)) ? "" : clock.format(at(time)));
export const clockTime = (time) => (Number.isNaN(at(time)) ? "" : short.format(at(time)));

const plain = new Intl.NumberFormat();
export const count = (value) => (value === null || value === undefined ? "" : plain.format(value));

export function bytes(value) {
  if (value === null || value === undefined) return "";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (value >= 1024 && i < units.length - 1) { value /= 1024; i += 1; }
  return `${value < 10 && i > 0 ? value.toFixed(1) : Math.round(value)} ${units[i]}`;
}

/** "spent of cap CUR"; amounts are decimal texts and stay as they are. */
export function budget(of) {
  return Object.entries(of ?? {}).map(([currency, { cap, spent }]) => `${spent ?? "0"}${cap === undefined || cap === null ? "" : ` of ${cap}`} ${currency}`).join(", ");
}

/** The share of a budget that is spent, from 0 to 1. Only for drawing: the exact amounts are shown as text. */
export function share({ cap, spent }) {
  const limit = Number(cap);
  return limit > 0 ? Math.min(1, Number(spent ?? 0) / limit) : 1;
}

export const shortId = (id) => (id.length > 14 ? `${id.slice(0, 4)}…${id.slice(-6)}` : id);

export function progress(of) {
  if (!of || of.current === undefined) return "";
  return of.total ? `${Math.floor((100 * of.current) / of.total)} %` : count(of.current);
}

// What the views share: the signed-in principal and the newest jobs, as they change.
import { Wire, Refused } from "./wire.js";

const JOBS_KEPT = 2000;
const JOBS_REMOVED = 200; // at once, so that the oldest are looked for rarely
const JOBS_ASKED = 100;
const AGAIN_MS = 2000;
const KEY = "arcp.page_key";
const KEY_BEGIN = "page_key_";

const ENDED = new Set(["success", "error", "cancelled", "timed_out"]);

export class Session extends EventTarget {
  constructor(url) {
    super();
    this.url = url;
    this.jobs = new Map(); // id -> row, the newest ones and those that were asked for
    this.texts = new Map(); // id -> the row as it came last
    this.isLoaded = false; // the newest jobs have come since the connection was made
    this.role = "none";
  }

  /** A key from an earlier sign-in in this tab. */
  static storedKey() { return sessionStorage.getItem(KEY); }
  static forgetKey() { sessionStorage.removeItem(KEY); }

  /** `asks`: nothing is kept, and no view is shown, until `confirm` is called. */
  signIn(token, asks = false) {
    this.token = token;
    this.asks = asks;
    this.wire = new Wire(this.url, () => this.token);
    this.wire.addEventListener("state", (event) => this.onState(event.detail));
    this.wire.addEventListener("frame", (event) => this.onFrame(event.detail));
    this.wire.open();
  }

  /** The reader wants to be who the link says. */
  confirm() {
    this.asks = false;
    this.onState({ state: "open" });
  }

  signOut() {
    Session.forgetKey();
    this.wire?.close(true);
    this.token = undefined;
    this.jobs.clear();
    this.texts.clear();
    clearTimeout(this.timer);
  }

  emit(name, detail) { this.dispatchEvent(new CustomEvent(name, { detail })); }

  onState(detail) {
    if (detail.state === "open") {
      const about = this.wire.welcome["x-vendor.arcpd.view"] ?? {};
      this.principal = about.principal;
      this.role = about.role ?? "none";
      this.agents = this.wire.welcome.capabilities?.agents ?? [];
      if (about.page_key) {
        // The token was for this hello only; the key is what stays.
        this.token = about.page_key;
      }
      this.jobs.clear();
      this.texts.clear();
      this.isLoaded = false;
      if (this.asks) {
        this.emit("asks");
        return;
      }
      if (about.page_key) sessionStorage.setItem(KEY, about.page_key);
      this.watch();
    } else if (detail.state === "refused") {
      Session.forgetKey();
      this.emit("state", { ...detail, wasKey: this.token?.startsWith(KEY_BEGIN) });
      return;
    }
    this.emit("state", detail);
  }

  /** Of this connection. */
  get id() { return this.wire?.sessionId; }
  get hasView() { return this.wire?.has("x-vendor.arcpd.view"); }
  get isOperator() { return this.role === "operator"; }
  /** The filter that shows all jobs that the role may see; without it a role sees its own. */
  get everybody() { return this.seesAll ? { principal: "*" } : {}; }
  get seesAll() { return this.role === "viewer" || this.role === "operator"; }

  /** From now on the views are told which jobs change. Who watches first, and then asks for all, misses nothing. */
  async watch() {
    clearTimeout(this.timer);
    if (!this.hasView) return;
    try {
      await this.wire.ask("watch", { what: this.seesAll ? ["jobs", "figures"] : ["jobs"], ...this.everybody });
      await this.load();
    } catch (error) {
      if (error.code === "AWAY") return; // a new connection watches again
      this.emit("problem", error);
      this.timer = setTimeout(() => this.watch(), AGAIN_MS);
    }
  }

  /** The newest jobs, all at once. */
  async load() {
    const { jobs } = await this.wire.ask("jobs", { filter: this.everybody, limit: JOBS_ASKED });
    const isFirst = !this.isLoaded;
    this.isLoaded = true;
    if (!this.changed(jobs) && isFirst) this.emit("jobs", []);
  }

  /** True: the rows have something new, which the views are told. */
  changed(rows) {
    const changed = rows.filter((row) => this.take(row));
    if (changed.length > 0) this.emit("jobs", changed);
    return changed.length > 0;
  }

  onFrame({ type, job_id: jobId, payload = {} }) {
    if (type === "x-vendor.arcpd.changed") {
      this.changed(payload.jobs ?? []);
      if (payload.reload) this.load().catch(() => {});
    } else if (type === "x-vendor.arcpd.lagging") {
      this.timer = setTimeout(() => this.watch(), AGAIN_MS);
    } else if (type === "x-vendor.arcpd.figures") {
      this.emit("figures", payload);
    } else if (type === "job.event" || type === "job.result" || type === "job.error") {
      this.emit("event", jobId ?? payload.job_id);
    }
  }

  /** Keeps a row. True: it tells something new. */
  take(row) {
    const known = this.jobs.get(row.job_id);
    const text = JSON.stringify(row);
    if (this.texts.get(row.job_id) === text) return false;
    this.texts.set(row.job_id, text);
    this.jobs.set(row.job_id, { ...known, ...row });
    if (this.jobs.size > JOBS_KEPT) {
      [...this.jobs.keys()].sort().slice(0, JOBS_REMOVED).forEach((oldest) => { // ids are in the order of their creation
        this.jobs.delete(oldest);
        this.texts.delete(oldest);
      });
    }
    return true;
  }

  /** A row that was listed, unless a newer one of the same job came meanwhile. */
  newest(row) {
    const known = this.jobs.get(row.job_id);
    return known !== undefined && ENDED.has(known.status) ? known : row;
  }

  request(type, payload) { return this.wire.request(type, payload); }
  ask(name, payload) { return this.wire.ask(name, payload); }
}

export { Refused };

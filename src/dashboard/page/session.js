// What the views share: the signed-in principal, the newest jobs as they change, and the figures. The shapes of the extension's
// messages (docs/protocol.md) are known here and in the views' requests.
import { Wire, Refused } from "./wire.js";

const JOBS_KEPT = 2000;
const KEY = "arcp.page_key";

export class Session extends EventTarget {
  constructor(url) {
    super();
    this.url = url;
    this.jobs = new Map(); // id -> row, the newest ones and those that were asked for
    this.figures = null;
    this.role = "none";
  }

  /** A key from an earlier sign-in in this tab. */
  static storedKey() { return sessionStorage.getItem(KEY); }
  static forgetKey() { sessionStorage.removeItem(KEY); }

  signIn(token) {
    this.token = token;
    this.wire = new Wire(this.url, () => this.token);
    this.wire.addEventListener("state", (event) => this.onState(event.detail));
    this.wire.addEventListener("frame", (event) => this.onFrame(event.detail));
    this.wire.open();
  }

  signOut() {
    Session.forgetKey();
    this.wire?.close(true);
    this.token = undefined;
    this.jobs.clear();
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
        sessionStorage.setItem(KEY, about.page_key);
      }
      this.jobs.clear();
      this.watch();
    } else if (detail.state === "refused") {
      Session.forgetKey();
    }
    this.emit("state", detail);
  }

  get hasView() { return this.wire?.has("x-vendor.arcpd.view"); }
  get isOperator() { return this.role === "operator"; }
  /** The filter that shows all jobs that the role may see; without it a role sees its own. */
  get everybody() { return this.seesAll ? { principal: "*" } : {}; }
  get seesAll() { return this.role === "viewer" || this.role === "operator"; }

  async watch() {
    if (!this.hasView) return;
    try {
      await this.wire.ask("watch", { what: "jobs" });
      await this.wire.ask("watch", { what: "figures" });
      await this.loadJobs();
    } catch (error) {
      if (error.code !== "AWAY") this.emit("problem", error);
    }
  }

  async loadJobs() {
    const { jobs } = await this.wire.ask("jobs", { filter: this.everybody, limit: 200 });
    this.take(jobs);
    this.emit("jobs");
  }

  take(rows) {
    rows.forEach((row) => this.jobs.set(row.job_id, { ...this.jobs.get(row.job_id), ...row }));
    if (this.jobs.size > JOBS_KEPT) {
      const oldest = [...this.jobs.values()].sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at));
      oldest.slice(0, this.jobs.size - JOBS_KEPT).forEach((row) => this.jobs.delete(row.job_id));
    }
  }

  onFrame(frame) {
    const { type, payload = {} } = frame;
    if (type === "x-vendor.arcpd.changed") {
      if (payload.reload) {
        this.loadJobs().catch(() => {}); // a lost connection loads them again
      } else {
        this.take(payload.jobs);
        this.emit("jobs", payload.jobs);
      }
    } else if (type === "x-vendor.arcpd.figures") {
      this.figures = payload;
      this.emit("figures", payload);
    } else if (type === "x-vendor.arcpd.lagging") {
      this.watch(); // this page was too slow, and is watched for no longer
    } else {
      this.emit("frame", frame);
    }
  }

  ask(name, payload) { return this.wire.ask(name, payload); }
}

export { Refused };

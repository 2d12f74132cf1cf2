// What the views share: the signed-in principal and the newest jobs, as they change.
import { Wire, Refused } from "./wire.js";

const JOBS_KEPT = 2000;
const JOBS_ASKED = 100;
const PAUSE_MS = 1500;
const PAUSE_OF_ROLES_MS = 5000; // each look of a role into other principals' jobs is a line of the audit log
const PAUSE_HIDDEN_MS = 60000;
const KEY = "arcp.page_key";

export class Session extends EventTarget {
  constructor(url) {
    super();
    this.url = url;
    this.jobs = new Map(); // id -> row, the newest ones and those that were asked for
    this.texts = new Map(); // id -> the row as it came last
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
      if (this.asks) {
        this.emit("asks");
        return;
      }
      if (about.page_key) sessionStorage.setItem(KEY, about.page_key);
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

  get pause() { return this.seesAll ? PAUSE_OF_ROLES_MS : PAUSE_MS; }

  /** Asks for the newest jobs, again and again while the page can be seen, and tells the views which have changed. */
  async watch() {
    clearTimeout(this.timer);
    if (!this.hasView) return;
    try {
      const { jobs } = await this.wire.ask("jobs", { filter: this.everybody, limit: JOBS_ASKED });
      const changed = jobs.filter((row) => this.take(row));
      if (changed.length > 0) this.emit("jobs", changed);
    } catch (error) {
      if (error.code === "AWAY") return; // a new connection watches again
      this.emit("problem", error);
    }
    this.timer = setTimeout(() => this.watch(), document.hidden ? PAUSE_HIDDEN_MS : this.pause);
  }

  /** Keeps a row. True: it tells something new. */
  take(row) {
    const known = this.jobs.get(row.job_id);
    const text = JSON.stringify(row);
    if (this.texts.get(row.job_id) === text) return false;
    this.texts.set(row.job_id, text);
    this.jobs.set(row.job_id, { ...known, ...row });
    if (this.jobs.size > JOBS_KEPT) {
      const [oldest] = [...this.jobs.keys()].sort(); // ids are in the order of their creation
      this.jobs.delete(oldest);
      this.texts.delete(oldest);
    }
    return true;
  }

  ask(name, payload) { return this.wire.ask(name, payload); }
}

export { Refused };

// The connection: ARCP 1.1 over a WebSocket. Requests are promises; everything else goes to listeners. After a lost connection it
// connects again and says hello again; whoever shows something asks for it anew.

const FEATURES = ["heartbeat", "ack", "list_jobs", "subscribe", "lease_expires_at", "cost.budget", "model.use", "progress", "result_chunk",
  "agent_versions", "x-vendor.arcpd.view", "x-vendor.arcpd.operate", "x-vendor.arcpd.page_key"];
const REQUEST_TIMEOUT_MS = 20000;
const PAUSE_FIRST_MS = 250;
const PAUSE_MAX_MS = 10000;
const ACK_EVERY = 200;
const RETRIES = 5;

/** A refusal of the runtime, or a request that could not be answered. */
export class Refused extends Error {
  constructor(code, message, details) {
    super(message);
    this.code = code;
    this.details = details ?? {};
  }
}

/** Keeps a number that a double cannot hold as its text, where the browser shows the text (amounts of money). */
function exact(_, value, context) {
  return typeof value === "number" && context?.source !== undefined && String(value) !== context.source && Number.isFinite(value) && !/[eE]/.test(context.source)
    ? context.source : value;
}

export class Wire extends EventTarget {
  /** `bearer()` returns what the hello is authenticated with. */
  constructor(url, bearer) {
    super();
    this.url = url;
    this.bearer = bearer;
    this.state = "closed"; // closed, connecting, open, away, refused
    this.pending = new Map();
    this.nextId = 1;
    this.pause = PAUSE_FIRST_MS;
    this.acked = 0;
  }

  get isOpen() { return this.state === "open"; }
  has(feature) { return this.isOpen && this.features.has(feature); }

  open() {
    this.wanted = true;
    this.connect();
  }

  /** Ends the session; signing out ends the key of the page, too. The runtime closes the connection. */
  close(signsOut) {
    this.wanted = false;
    clearTimeout(this.timer);
    if (this.socket && this.state === "open") this.send(signsOut ? "session.close" : "session.bye", {});
    else this.socket?.close();
    this.setState("closed");
  }

  setState(state, detail) {
    this.state = state;
    this.dispatchEvent(new CustomEvent("state", { detail: { state, ...detail } }));
  }

  connect() {
    this.setState(this.state === "away" ? "away" : "connecting");
    const socket = new WebSocket(this.url);
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.hello = this.send("session.hello", {
        client: { name: "arcpd-dashboard", version: "1" },
        auth: { scheme: "bearer", token: this.bearer() },
        capabilities: { encodings: ["json"], features: FEATURES },
      });
    });
    socket.addEventListener("message", (event) => this.receive(JSON.parse(event.data, exact)));
    socket.addEventListener("close", () => { if (this.socket === socket) this.lost(); });
  }

  lost() {
    this.pending.forEach(({ reject, timer }) => { clearTimeout(timer); reject(new Refused("AWAY", "the connection was lost")); });
    this.pending.clear();
    if (!this.wanted || this.state === "refused") return;
    this.setState("away", { again: this.pause });
    this.timer = setTimeout(() => this.connect(), this.pause * (0.75 + Math.random() / 2));
    this.pause = Math.min(PAUSE_MAX_MS, this.pause * 2);
  }

  send(type, payload, jobId) {
    const id = `p${this.nextId}`;
    this.nextId += 1;
    const frame = { arcp: "1.1", id, type, payload };
    if (jobId) frame.job_id = jobId;
    this.socket.send(JSON.stringify(frame));
    return id;
  }

  /** Resolves with the payload of the response; rejects with Refused. */
  request(type, payload = {}, jobId) {
    if (!this.isOpen) return Promise.reject(new Refused("AWAY", "not connected"));
    return new Promise((resolve, reject) => {
      const id = this.send(type, payload, jobId);
      const timer = setTimeout(() => {
        this.pending.delete(id);
        reject(new Refused("TIMEOUT", `no answer to ${type}`));
      }, REQUEST_TIMEOUT_MS);
      this.pending.set(id, { resolve, reject, timer });
    });
  }

  /** A request of the extension. One that came too early is sent again at the time that the runtime names. */
  async ask(name, payload) {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.request(`x-vendor.arcpd.${name}`, payload);
      } catch (error) {
        const pause = error.details?.retry_after_ms;
        if (pause === undefined || tries === RETRIES) throw error;
        await new Promise((done) => { setTimeout(done, pause + Math.random() * 200); });
      }
    }
  }

  receive(frame) {
    const { type, payload = {} } = frame;
    if (type === "session.ping") {
      this.send("session.pong", { nonce: payload.nonce });
    } else if (type === "session.welcome") {
      this.features = new Set(payload.capabilities?.features ?? []);
      this.welcome = payload;
      this.sessionId = frame.session_id ?? payload.session_id;
      this.pause = PAUSE_FIRST_MS;
      this.acked = 0;
      this.setState("open");
    } else if (type === "session.error" && this.state !== "open") {
      this.wanted = false;
      this.setState("refused", { code: payload.code, message: payload.message });
    } else {
      this.dispatch(frame);
    }
  }

  dispatch(frame) {
    const { type, payload = {} } = frame;
    const waiting = this.pending.get(payload.request_id);
    if (waiting && type !== "job.event") {
      this.pending.delete(payload.request_id);
      clearTimeout(waiting.timer);
      if (type === "job.error" || type === "session.error") {
        waiting.reject(new Refused(payload.code, payload.message, payload.details));
      } else {
        waiting.resolve({ ...payload, job_id: payload.job_id ?? frame.job_id });
      }
    } else {
      this.dispatchEvent(new CustomEvent("frame", { detail: frame }));
    }
    if (frame.event_seq >= this.acked + ACK_EVERY && this.features?.has("ack")) {
      this.acked = frame.event_seq;
      this.send("session.ack", { last_processed_seq: frame.event_seq });
    }
  }
}

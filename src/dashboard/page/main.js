// The page: who is signed in, which view is shown, and what is said when the connection is lost.
import { h, fill, foreign, visible } from "./dom.js";
import { Session } from "./session.js";
import { duration } from "./format.js";
import { open } from "./dialog.js";
import * as signIn from "./view_signin.js";
import * as overview from "./view_overview.js";
import * as jobs from "./view_jobs.js";
import * as job from "./view_job.js";
import * as submit from "./view_submit.js";
import * as agents from "./view_agents.js";
import * as schedules from "./view_schedules.js";
import * as sessions from "./view_sessions.js";
import * as workers from "./view_workers.js";
import * as hooks from "./view_hooks.js";
import * as audit from "./view_audit.js";

const code = signIn.takeCode(); // before anything else can see the address
const main = document.getElementById("content");
const notice = document.getElementById("notice");
const socketPath = document.querySelector('meta[name="arcp-socket"]').content;
const session = new Session(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}${socketPath}`);

const VIEWS = [
  { path: "", label: "Overview", key: "o", view: overview },
  { path: "jobs", label: "Jobs", key: "j", view: jobs },
  { path: "submit", label: "Submit", key: "s", view: submit },
  { path: "agents", label: "Agents", key: "a", view: agents },
  { path: "schedules", label: "Schedules", key: "c", view: schedules },
  { path: "sessions", label: "Sessions", key: "e", view: sessions, forRoles: true },
  { path: "workers", label: "Workers", key: "w", view: workers, forRoles: true },
  { path: "hooks", label: "Hooks", key: "h", view: hooks, forRoles: true },
  { path: "audit", label: "Audit", key: "u", view: audit, forRoles: true },
];

let closeView = null;
let shown = null; // the view
let signedIn = false;

/** A part of an address, which may be any text. */
function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function route() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").map(decoded);
  return { name: parts[0] ?? "", id: parts[1] ?? "", tab: parts[2], query: new URLSearchParams(query) };
}

const views = () => VIEWS.filter((view) => !view.forRoles || session.seesAll);

function drawNav(name) {
  fill(document.getElementById("nav"), views().map((view) =>
    h("a", { href: `#/${view.path}`, "aria-current": view.path === name ? "page" : null }, view.label)));
}

function draw() {
  if (!signedIn) return;
  leave();
  const to = route();
  const found = to.name === "job" ? { view: job, label: to.id } : views().find((view) => view.path === to.name) ?? VIEWS[0];
  drawNav(to.name === "job" ? "jobs" : found.path);
  document.title = `${visible(found.label).slice(0, 60)} · arcpd`;
  shown = found.view;
  closeView = shown.show(main, { session, ...to }) ?? null;
}

function leave() {
  closeView?.();
  closeView = null;
  shown = null;
}

function say(text) {
  notice.textContent = text;
  notice.hidden = text === "";
}

function askToken(message) {
  leave();
  signedIn = false;
  fill(document.getElementById("nav"));
  fill(document.getElementById("who"));
  signIn.show(main, { message, onToken: (token) => session.signIn(token) });
}

function drawWho() {
  fill(document.getElementById("who"), foreign(session.principal ?? ""), session.role && session.role !== "none" ? h("span", { class: "tag" }, session.role) : null,
    h("button", { type: "button", class: "quiet", on: { click: () => { session.signOut(); askToken(); } } }, "Sign out"));
}

session.addEventListener("state", ({ detail }) => {
  document.body.classList.toggle("stale", detail.state === "away");
  if (detail.state === "open") {
    say("");
    drawWho();
    if (!session.hasView) {
      fill(main, h("p", { class: "empty" }, "This runtime does not offer the feature x-vendor.arcpd.view, which this page needs."));
      return;
    }
    signedIn = true;
    drawNav(route().name === "job" ? "jobs" : route().name);
    if (!shown?.outlastsConnection) draw();
  } else if (detail.state === "away") {
    say(`The connection to arcpd is lost. What you see is not live. Trying again in ${duration(detail.again ?? 0)}.`);
  } else if (detail.state === "refused") {
    say("");
    askToken(detail.code !== "UNAUTHENTICATED" ? `${detail.code}: ${detail.message}`
      : detail.wasKey ? "The sign-in of this page has ended: it was signed out, it expired, or its token changed. Sign in again."
        : "This token is not valid here.");
  }
});
session.addEventListener("problem", ({ detail }) => say(`${detail.code}: ${detail.message}`));
window.addEventListener("hashchange", () => {
  draw();
  if (main.contains(document.activeElement)) return; // the view has chosen a field
  const title = main.querySelector("h1") ?? main;
  title.tabIndex = -1;
  title.focus({ preventScroll: true }); // a screen reader says what is shown now, and Tab goes on from there
});

/** Keys that work everywhere outside of fields: ? shows them. */
function showKeys() {
  open(h("form", { method: "dialog" }, h("h2", null, "Keys"), h("dl", { class: "keys" },
    [...views().map((view) => [`g then ${view.key}`, view.label]), ["j, k", "the next and previous row of a table"], ["Enter", "open the row"], ["/", "search"], ["?", "this list"]]
      .map(([keys, text]) => [h("dt", null, keys), h("dd", null, text)])), h("div", { class: "actions" }, h("button", { type: "submit" }, "Close"))));
}

let waitsForView = false;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) return;
  if (waitsForView) {
    waitsForView = false;
    const view = views().find(({ key }) => key === event.key);
    if (view) location.hash = `#/${view.path}`;
  } else if (event.key === "g") {
    waitsForView = true;
  } else if (event.key === "?") {
    showKeys();
  } else if (event.key === "/") {
    document.querySelector('input[type="search"]')?.focus();
    event.preventDefault();
  } else if ((event.key === "j" || event.key === "k") && !event.target.closest(".scroller")) {
    document.querySelector(".scroller")?.focus();
  }
});

/** Nobody is signed in as somebody else by a link: the page asks first. */
session.addEventListener("asks", () => {
  const dialog = document.getElementById("dialog");
  const refuse = () => { if (session.asks) { session.signOut(); askToken(); } };
  fill(dialog, h("form", { on: { submit: (event) => { event.preventDefault(); dialog.close(); session.confirm(); } } },
    h("h2", null, "Sign in as ", foreign(session.principal ?? "?"), session.role === "none" ? "" : ` (${session.role})`, "?"),
    h("p", null, "The link that you opened signs this tab in. Say no if you did not make it."),
    h("div", { class: "actions" }, h("button", { type: "button", class: "quiet", on: { click: () => { dialog.close(); refuse(); } } }, "No"), h("button", { type: "submit" }, "Sign in"))));
  dialog.addEventListener("cancel", refuse, { once: true });
  dialog.showModal();
});

const key = Session.storedKey();
if (code) session.signIn(code, true);
else if (key) session.signIn(key);
else askToken();

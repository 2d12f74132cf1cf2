// Signing in: with a token that is typed, or with a code that stands behind the # of the address.
import { h, fill, foreign } from "./dom.js";

/** The code of the address, which is removed from it and from the history at once. */
export function takeCode() {
  const match = /^#code=([A-Za-z0-9_-]{16,128})$/.exec(location.hash);
  if (location.hash.startsWith("#code=")) history.replaceState(null, "", location.pathname);
  return match ? match[1] : null;
}

export function show(main, { message, onToken }) {
  const input = h("input", { id: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "token-help" });
  const form = h("form", { class: "card narrow", on: { submit: (event) => {
    event.preventDefault();
    const token = input.value.trim();
    input.value = "";
    if (token) onToken(token);
  } } },
    h("h1", null, "Sign in"),
    message ? h("p", { class: "bad", role: "alert" }, foreign(message)) : null,
    h("label", { for: "token" }, "Token"),
    input,
    h("p", { id: "token-help", class: "hint" }, "A token of this arcpd. It is sent to this server only, and is not kept. With a token of its own, arcpd wrote it to the file "),
    h("button", { type: "submit" }, "Sign in"));
  form.querySelector("#token-help").append(h("code", null, "token"), " in its state directory.");
  fill(main, form);
  input.focus();
}

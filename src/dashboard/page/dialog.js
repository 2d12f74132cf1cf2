// The one dialog of the page: it asks before something is ended, and shows what a row has no room for.
import { h, fill, foreign } from "./dom.js";

const dialog = document.getElementById("dialog");

/** Shows content; a form in it with the method `dialog` closes it. */
export function open(...content) {
  fill(dialog, content);
  dialog.showModal();
}

/** Asks before `act`, which may refuse: then its message is shown, and the dialog stays. `verb` names the button that acts. */
export function ask({ title, body, keep, verb, act }) {
  const problem = h("p", { class: "bad", role: "alert" });
  const button = h("button", { type: "submit", class: "danger" }, verb);
  open(h("form", { on: { submit: async (event) => {
    event.preventDefault();
    button.disabled = true;
    try {
      await act();
      dialog.close();
    } catch (error) {
      fill(problem, foreign(error.message));
      button.disabled = false;
    }
  } } }, h("h2", null, title), body, problem,
  h("div", { class: "actions" }, h("button", { type: "button", class: "quiet", on: { click: () => dialog.close() } }, keep), button)));
}

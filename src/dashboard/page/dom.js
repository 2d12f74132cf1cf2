// Elements and texts. Everything that a runtime, an agent or a user wrote goes through `text` or `foreign`,
// and becomes a text node: no function here takes markup.

/** Control characters and marks that change the direction of text, which a reader must see. */
const INVISIBLE = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

/** The text with invisible characters written as \u{...}. */
export function visible(value) {
  return String(value).replace(INVISIBLE, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

/** A value as JSON in which invisible characters are written as escapes: what is copied from here is what was seen. */
export function jsonText(value, indent) {
  return (JSON.stringify(value, null, indent) ?? "null").replace(INVISIBLE, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** The beginning of a long text. */
export function cut(value, size) {
  const text = String(value ?? "");
  return text.length > size ? `${text.slice(0, size)}…` : text;
}

function append(element, child) {
  if (Array.isArray(child)) child.forEach((one) => append(element, one));
  else if (child instanceof Node) element.append(child);
  else if (child !== null && child !== undefined && child !== false) element.append(visible(child));
}

/**
 * Makes an element. Properties: `class`, `on` (event to function), `data`, anything else is an
 * attribute (true: without a value; false, null and undefined: none).
 */
export function h(name, properties, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    if (key === "on") Object.entries(value).forEach(([event, call]) => element.addEventListener(event, call));
    else if (key === "data") Object.assign(element.dataset, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  append(element, children);
  return element;
}

/** A text of somebody else: isolated, so that its direction does not change what stands beside it. */
export function foreign(value, name = "bdi") {
  return h(name, { dir: "auto" }, value ?? "");
}

/** A URL as a link if it is http or https, else as text. */
export function link(url) {
  return /^https?:\/\//i.test(url)
    ? h("a", { href: url, rel: "noopener noreferrer", target: "_blank", dir: "auto" }, url)
    : foreign(url);
}

/** Replaces the content of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Draws the content of an element anew; its control that has the focus, found again by its place, keeps it. */
export function redraw(element, draw) {
  const controls = () => [...element.querySelectorAll("a, button, summary, [tabindex]")];
  const at = controls().indexOf(document.activeElement);
  draw();
  if (at >= 0) controls()[at]?.focus({ preventScroll: true });
}

/** Sets a text only if it differs: a screen reader then says only what has changed. */
export function setText(node, value) {
  const next = visible(value);
  if (node.textContent !== next) node.textContent = next;
}

export function svg(name, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  Object.entries(attributes ?? {}).forEach(([key, value]) => {
    if (value !== null && value !== undefined) element.setAttribute(key, value);
  });
  append(element, children);
  return element;
}

/** Copies a text, and says so on the button for a moment. */
export async function copy(button, value) {
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(value);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed here";
  }
  setTimeout(() => { button.textContent = label; }, 1500);
}

export function copyButton(label, value) {
  return h("button", { type: "button", class: "quiet", on: { click: (e) => copy(e.currentTarget, value()) } }, label);
}

/** Offers a text as a file. */
export function download(name, value, type = "application/json") {
  const url = URL.createObjectURL(new Blob([value], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** What an empty place shows: a sentence, and the command that would fill it. */
export function empty(sentence, command) {
  return h("div", { class: "empty" }, h("p", null, sentence), command ? h("pre", null, command) : null);
}

/** What may be wider than the screen: it can be scrolled by keyboard, too. */
export function scrolling(label, ...children) {
  return h("div", { class: "scroll-x", role: "region", "aria-label": `${label}, wide`, tabindex: 0 }, children);
}

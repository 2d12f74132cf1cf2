// Charts as SVG, drawn by hand. Each has a text that says the same.
import { svg, h } from "./dom.js";

const WIDTH = 240;
const HEIGHT = 48;

/** A line over time. `points` are numbers, the newest last; `label` says what they are. */
export function sparkline(points, label) {
  const most = Math.max(1, ...points);
  const step = points.length > 1 ? WIDTH / (points.length - 1) : WIDTH;
  const line = points.map((value, i) => `${(i * step).toFixed(1)},${(HEIGHT - 2 - (value / most) * (HEIGHT - 6)).toFixed(1)}`).join(" ");
  const newest = points.length === 0 ? 0 : points[points.length - 1];
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "spark", role: "img", preserveAspectRatio: "none",
    "aria-label": `${label}: now ${newest}, most ${Math.max(0, ...points)}` },
    svg("polygon", { class: "area", points: `0,${HEIGHT} ${line} ${WIDTH},${HEIGHT}` }),
    svg("polyline", { class: "line", points: line }));
}

/** A bar that is filled from 0 to 1. */
export function gauge(share, label) {
  const percent = Math.round(share * 100);
  const level = share >= 1 ? "full" : share >= 0.9 ? "high" : "";
  return h("div", { class: `gauge ${level}`, role: "meter", "aria-label": label, "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": percent },
    h("i", { data: { percent } }));
}

/** Bars with a name and a value each, the largest first. */
export function bars(rows, format) {
  const most = Math.max(1e-9, ...rows.map((row) => row.value));
  return h("ol", { class: "bars" }, rows.map((row) => h("li", null,
    h("bdi", { dir: "auto" }, row.name), h("span", { class: "number" }, format(row)),
    svg("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { class: "bar", width: Math.max(0.5, (100 * row.value) / most), height: 6 })))));
}

/** The width of gauges: a style attribute would need a weaker policy for the page. */
export function layGauges(root) {
  root.querySelectorAll(".gauge > i").forEach((bar) => { bar.style.width = `${bar.dataset.percent}%`; });
}

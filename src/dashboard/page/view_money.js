// What a job may spend and has spent, by model, tool and child.
import { h, fill, empty, foreign } from "./dom.js";
import { bars, gauge, layGauges, sparkline } from "./chart.js";
import { count, share } from "./format.js";

/** Adds two decimal texts exactly. */
export function addDecimals(a, b) {
  const [whole, part = ""] = String(a).split(".");
  const [whole2, part2 = ""] = String(b).split(".");
  const digits = Math.max(part.length, part2.length);
  const total = BigInt(whole + part.padEnd(digits, "0")) + BigInt(whole2 + part2.padEnd(digits, "0"));
  const text = (total < 0n ? -total : total).toString().padStart(digits + 1, "0");
  const sign = total < 0n ? "-" : "";
  return digits === 0 ? `${sign}${text}` : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}

const isDecimal = (text) => /^-?\d+(\.\d+)?$/.test(text);
const CURRENCIES_MAX = 8;
const NAMES_MAX = 50; // an agent may name any number of models and tools
const POINTS_MAX = 240;

/** An amount as a decimal text: 1e-7 becomes 0.0000001. */
export const decimalOf = (value) => (typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 20, useGrouping: false }) : String(value));

/** The last of each group of points, at most 240 of them. */
function thinned(points) {
  const size = Math.ceil(points.length / POINTS_MAX);
  return size <= 1 ? points : points.filter((_, i) => i % size === size - 1 || i === points.length - 1);
}

/** The costs that events report: currency -> what for -> the sum as a decimal text. */
function costsOf(events) {
  const costs = new Map();
  events.forEach(({ kind, body }) => {
    if (kind !== "metric" || !body.name?.startsWith("cost.") || body.name.startsWith("cost.budget.") || !body.unit || !isDecimal(decimalOf(body.value))) return;
    const from = body.dimensions?.model ?? body.dimensions?.tool ?? body.dimensions?.child_job_id ?? body.name;
    const rows = costs.get(body.unit) ?? new Map();
    rows.set(String(from), addDecimals(rows.get(String(from)) ?? "0", decimalOf(body.value)));
    costs.set(body.unit, rows);
  });
  return costs;
}

function spendOverTime(events, currency) {
  let sum = 0;
  const points = [];
  events.forEach(({ kind, body }) => {
    if (kind === "metric" && body.name?.startsWith("cost.") && !body.name.startsWith("cost.budget.") && body.unit === currency) {
      sum += Number(body.value);
      points.push(sum);
    }
  });
  return points.length > 1 ? sparkline(thinned(points), `spent, in ${currency}`) : null;
}

export function show(main, { job, log }) {
  const draw = () => {
    const budgets = Object.entries(job().budget ?? {});
    const costs = costsOf(log.events);
    fill(main,
      budgets.length === 0 ? h("p", { class: "hint" }, "The lease has no budget: costs are reported, and not limited.") : h("div", { class: "tiles" },
        budgets.map(([currency, amounts]) => h("section", { class: "tile" }, h("h3", null, currency),
          h("p", { class: "big" }, amounts.spent ?? "0"), amounts.cap === undefined || amounts.cap === null ? h("p", { class: "hint" }, "not limited by the lease") : [h("p", { class: "hint" }, `of ${amounts.cap}`),
            gauge(share(amounts), `${amounts.spent ?? 0} of ${amounts.cap} ${currency} spent`)], spendOverTime(log.events, currency)))),
      costs.size === 0 ? empty("No costs were reported yet.") : [...costs].slice(0, CURRENCIES_MAX).map(([currency, rows]) => h("section", { class: "card" },
        h("h3", null, "Costs in ", foreign(currency)),
        bars([...rows].map(([name, amount]) => ({ name, amount, value: Number(amount) })).sort((a, b) => b.value - a.value).slice(0, NAMES_MAX), (row) => `${row.amount} ${currency}`),
        rows.size > NAMES_MAX ? h("p", { class: "hint" }, `The ${NAMES_MAX} largest of ${count(rows.size)}.`) : null)),
      costs.size > CURRENCIES_MAX ? h("p", { class: "hint" }, `The first ${CURRENCIES_MAX} of ${count(costs.size)} currencies.`) : null,
      log.hasOlder ? h("p", { class: "hint" }, "Older events are not loaded; their costs are in the budget above, not in these sums.") : null);
    layGauges(main);
  };
  log.addEventListener("changed", draw);
  draw();
  return () => log.removeEventListener("changed", draw);
}

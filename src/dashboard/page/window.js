// A table whose rows exist only while they can be seen: 50 000 jobs, or 20 000 events, are a scroll bar and
// some forty rows. All rows have the same height.
import { h } from "./dom.js";

const SPARE_ROWS = 8; // made above and below what can be seen
let tables = 0;

/**
 * `columns`: [{ name, label, className }]; `cells(item)` returns what the columns show, in their order. `open(item)` is
 * called by a click or Enter. `key(item)` is unique.
 */
export class WindowedTable {
  constructor({ label, columns, cells, key, open, rowHeight = 34, describe }) {
    Object.assign(this, { columns, cells, key, open, rowHeight, describe });
    this.items = [];
    this.selected = null;
    this.rows = new Map(); // key -> { element, item, index }
    this.follow = false; // stays at the end as items are added
    this.id = `table${tables += 1}`;
    this.made = 0;
    this.body = h("div", { class: "rows", role: "rowgroup" });
    this.head = h("div", { class: "row head", role: "row", "aria-rowindex": 1 },
      columns.map((column) => h("div", { role: "columnheader", class: `cell ${column.className ?? ""}` }, column.label)));
    this.scroller = h("div", { class: "scroller", tabindex: 0, role: "grid", "aria-label": label, "aria-colcount": columns.length, "aria-readonly": "true" },
      h("div", { class: "sticky", role: "rowgroup" }, this.head), this.body);
    this.element = h("div", { class: "table" }, this.scroller);
    this.scroller.addEventListener("scroll", () => {
      this.follow = this.follow && this.atEnd();
      this.draw();
    });
    this.scroller.addEventListener("keydown", (event) => this.onKey(event));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.scroller);
  }

  atEnd() {
    const s = this.scroller;
    return s.scrollTop + s.clientHeight >= s.scrollHeight - this.rowHeight;
  }

  set(items) {
    this.items = items;
    this.scroller.setAttribute("aria-rowcount", items.length + 1);
    this.body.style.height = `${items.length * this.rowHeight}px`;
    if (this.follow) this.scroller.scrollTop = this.scroller.scrollHeight;
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.scroller.scrollTop / this.rowHeight) - SPARE_ROWS);
    const last = Math.min(this.items.length,
      Math.ceil((this.scroller.scrollTop + this.scroller.clientHeight) / this.rowHeight) + SPARE_ROWS);
    const kept = new Set();
    for (let i = first; i < last; i += 1) {
      const item = this.items[i];
      const key = this.key(item);
      kept.add(key);
      let row = this.rows.get(key);
      if (!row || row.item !== item) {
        const element = this.make(item);
        if (row) row.element.replaceWith(element);
        else this.body.append(element);
        row = { element, item };
        this.rows.set(key, row);
      }
      row.element.style.top = `${i * this.rowHeight}px`;
      row.element.setAttribute("aria-rowindex", i + 2);
      const isSelected = key === this.selected;
      row.element.classList.toggle("selected", isSelected);
      row.element.setAttribute("aria-selected", isSelected);
      if (isSelected) this.scroller.setAttribute("aria-activedescendant", row.element.id);
    }
    if (!kept.has(this.selected)) this.scroller.removeAttribute("aria-activedescendant");
    for (const [key, row] of this.rows) {
      if (!kept.has(key)) {
        row.element.remove();
        this.rows.delete(key);
      }
    }
  }

  /** Makes all rows anew, where what they show depends on more than their items (the time). */
  refresh() {
    this.rows.forEach((row) => row.element.remove());
    this.rows.clear();
    this.draw();
  }

  make(item) {
    const values = this.cells(item);
    this.made += 1;
    return h("div", { class: `row ${this.describe ? this.describe(item) : ""}`, role: "row", id: `${this.id}-${this.made}`, on: { click: () => this.choose(item, true) } },
      this.columns.map((column, i) => h("div", { role: "gridcell", class: `cell ${column.className ?? ""}`, data: { label: column.label } }, values[i])));
  }

  choose(item, opens) {
    this.selected = this.key(item);
    this.draw();
    if (opens && this.open) this.open(item);
  }

  onKey(event) {
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    const at = this.items.findIndex((item) => this.key(item) === this.selected);
    if (step !== undefined) {
      this.move(at === -1 ? 0 : at + step);
    } else if (event.key === "Home") {
      this.move(0);
    } else if (event.key === "End") {
      this.move(this.items.length - 1);
    } else if (event.key === "Enter" && at !== -1) {
      this.open?.(this.items[at]);
    } else {
      return;
    }
    event.preventDefault();
  }

  move(to) {
    const i = Math.max(0, Math.min(this.items.length - 1, to));
    if (this.items.length === 0) return;
    const top = i * this.rowHeight; // below the head, which stays where it is
    const s = this.scroller;
    const seen = s.clientHeight - this.head.offsetHeight;
    if (top < s.scrollTop) s.scrollTop = top;
    else if (top + this.rowHeight > s.scrollTop + seen) s.scrollTop = top + this.rowHeight - seen;
    this.choose(this.items[i], false);
  }

  close() {
    this.observer.disconnect();
  }
}

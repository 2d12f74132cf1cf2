// A table whose rows exist only while they can be seen: 50 000 jobs, or 20 000 events, are a scroll bar and
// some forty rows. All rows have the same height.
import { h, fill, visible } from "./dom.js";

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
    this.rows = new Map(); // key -> { element, cells, item }
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
    let before = null;
    // Elements of rows that went out of sight are used for those that come.
    const kept = new Set(this.items.slice(first, last).map(this.key));
    const spare = [...this.rows.keys()].filter((key) => !kept.has(key));
    for (let i = first; i < last; i += 1) {
      const item = this.items[i];
      const key = this.key(item);
      let row = this.rows.get(key);
      if (!row) {
        const from = spare.pop();
        row = from === undefined ? this.make(item) : this.rows.get(from);
        if (from !== undefined) {
          this.rows.delete(from);
          this.update(row, item, true);
        }
        this.rows.set(key, row);
      } else if (row.item !== item) {
        this.update(row, item);
      }
      // In the order of the table, for those who read the page from top to bottom.
      const next = before === null ? this.body.firstChild : before.nextSibling;
      if (next !== row.element) this.body.insertBefore(row.element, next);
      before = row.element;
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

  /** Shows anew what depends on more than the items (the time). */
  refresh() {
    this.rows.forEach((row) => this.update(row, row.item));
    this.draw();
  }

  make(item) {
    this.made += 1;
    const row = { cells: this.columns.map((column) => h("div", { role: "gridcell", class: `cell ${column.className ?? ""}` })) };
    row.element = h("div", { role: "row", id: `${this.id}-${this.made}`, on: { click: () => this.choose(row.item, true) } }, row.cells);
    this.update(row, item);
    return row;
  }

  /** Changes what differs only: an element that is pressed stays the same, and a screen reader says only what is new. `isOther`: the row was another's. */
  update(row, item, isOther = false) {
    row.item = item;
    row.element.className = `row ${this.describe ? this.describe(item) : ""}`;
    this.cells(item).forEach((value, i) => {
      const cell = row.cells[i];
      const text = value instanceof Node ? value.textContent : visible(value ?? "");
      if (isOther || cell.textContent !== text || cell.childElementCount !== (value instanceof Node ? 1 : 0)) fill(cell, value);
    });
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

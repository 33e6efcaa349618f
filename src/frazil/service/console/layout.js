// A layout in the planner: its pieces, its layout string, and the controls that move bits. The
// service checks the layout and computes its capacity.
//
// The bar with movable borders and the slider for each field are created once per layout and then
// updated, so that a drag is not interrupted.

import { button, el } from "./dom.js";
import { bits } from "./format.js";

const LEAST = 1;
const WIDEST = 128;
const PARTNERS = ["time", "run", "sequence", "node"];

/** The pieces from the most significant bit; the tick and epoch as strings. */
export class Cut {
  constructor({ pieces, tick, epoch }) {
    this.pieces = pieces.map((piece) => ({ ...piece }));
    this.tick = tick ?? "1ms";
    this.epoch = epoch ?? "2025-01-01T00:00:00Z";
  }

  get bits() {
    return this.pieces.reduce((sum, piece) => sum + piece.bits, 0);
  }

  has(role) {
    return this.pieces.some((piece) => piece.role === role);
  }

  /** The layout string. */
  toString() {
    const end = this.has("time") ? [`@${this.tick}`, "since", this.epoch] : [];
    return [...this.pieces.map((piece, i) => this.word(piece, i)), ...end].join(" ");
  }

  word(piece, i) {
    const same = this.pieces.filter(({ name }) => name === piece.name);
    const first = this.pieces.findIndex(({ name }) => name === piece.name) === i;
    const value = first && piece.value !== null ? `=${piece.value}` : "";
    const turned = piece.reversed ? "~" : "";
    if (same.length === 1) return `${piece.label}:${piece.bits}${turned}${value}`;
    // The pieces of one value keep their order when their widths change.
    const below = same.filter(({ low }) => low < piece.low);
    const low = below.reduce((sum, { bits }) => sum + bits, 0);
    return `${piece.label}[${low + piece.bits - 1}..${low}]${turned}${value}`;
  }

  /** Move up to `by` bits across the border on the right of piece `i`. */
  shift(i, by) {
    const [left, right] = [this.pieces[i], this.pieces[i + 1]];
    const moved = Math.max(LEAST - left.bits, Math.min(right.bits - LEAST, by));
    left.bits += moved;
    right.bits -= moved;
    return moved !== 0;
  }

  /** The piece that gives or takes bits when piece `i` is resized, if the sum is kept. */
  partner(i, kept) {
    if (!kept) return null;
    const others = this.pieces.map((piece, at) => at).filter((at) => at !== i);
    const role = PARTNERS.find((one) => others.some((at) => this.pieces[at].role === one));
    const fitting = others.filter((at) => this.pieces[at].role === role);
    return fitting.sort((a, b) => this.pieces[b].bits - this.pieces[a].bits)[0] ?? null;
  }

  /** The most bits that piece `i` can have. */
  most(i, kept) {
    const partner = this.partner(i, kept);
    const free = kept ? (this.pieces[partner]?.bits ?? 1) - 1 : WIDEST - this.bits;
    return this.pieces[i].bits + free;
  }

  /** Set the width of piece `i`. */
  resize(i, bits, kept) {
    const wanted = Math.max(LEAST, Math.min(this.most(i, kept), bits));
    const partner = this.partner(i, kept);
    if (kept && partner === null) return;
    if (kept) this.pieces[partner].bits += this.pieces[i].bits - wanted;
    this.pieces[i].bits = wanted;
  }

  /** Remove piece `i`; if the sum is kept, its bits go to its partner. */
  remove(i, kept) {
    const partner = this.partner(i, kept);
    if (partner !== null) this.pieces[partner].bits += this.pieces[i].bits;
    this.pieces.splice(i, 1);
  }

  /** Add a field with a role at its usual position; return the index. */
  add(role, kept) {
    const given = Math.max(0, ...this.pieces.map((piece) => piece.bits - LEAST)); // by one field
    const bits = Math.min(8, kept ? given : WIDEST - this.bits);
    if (bits < 1) return -1;
    const order = ["fixed", "time", "run", "node", "sequence"];
    let at = this.pieces.findIndex((piece) => order.indexOf(piece.role) > order.indexOf(role));
    if (at < 0) at = this.pieces.length;
    const fresh = { name: role, label: role, role, bits: 0, low: 0, reversed: false, value: null };
    this.pieces.splice(at, 0, fresh);
    this.resize(at, bits, kept);
    return at;
  }
}

const STEPS = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -4, PageUp: 4 };
const WHOLE = 200; // more than any width

/** Fill `bar` with the fields of the layout; returns a function that updates it. */
export function barOf(planner, bar) {
  const updates = [];
  const parts = planner.cut.pieces.flatMap((piece, i) => {
    const width = el("b", {});
    const segment = el("div", { class: `segment role-${piece.role}` },
      el("span", { text: piece.label }), width);
    updates.push(() => {
      const { bits: now } = planner.cut.pieces[i];
      segment.style.setProperty("flex-grow", now);
      segment.title = `${piece.label}: ${bits(now)}`;
      segment.classList.toggle("tight", now / planner.cut.bits < 0.07);
      width.textContent = now;
    });
    if (i + 1 === planner.cut.pieces.length) return [segment];
    const [border, update] = handle(planner, bar, i);
    updates.push(update);
    return [segment, border];
  });
  bar.replaceChildren(...parts);
  return () => updates.forEach((update) => update());
}

/** The border on the right of field `i`, moved by pointer or keyboard. */
function handle(planner, bar, i) {
  const [left, right] = planner.cut.pieces.slice(i, i + 2).map(({ label }) => label);
  const node = el("div", {
    class: "handle",
    role: "slider",
    tabindex: "0",
    "aria-orientation": "horizontal",
    "aria-label": `Border between ${left} and ${right}`,
    "aria-valuemin": 1,
  });
  const shift = (by) => planner.cut.shift(i, by) && planner.moved();
  node.addEventListener("keydown", (event) => {
    const by = { ...STEPS, Home: -WHOLE, End: WHOLE }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    shift(by);
  });
  node.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    node.focus();
    node.setPointerCapture(event.pointerId);
    document.body.classList.add("dragging");
  });
  node.addEventListener("pointermove", (event) => {
    if (!node.hasPointerCapture(event.pointerId)) return;
    const { pieces, bits: sum } = planner.cut;
    const before = pieces.slice(0, i).reduce((all, piece) => all + piece.bits, 0);
    const { left: start, width } = bar.getBoundingClientRect();
    const at = Math.round(((event.clientX - start) / width) * sum) - before;
    shift(at - pieces[i].bits);
  });
  node.addEventListener("lostpointercapture", () => document.body.classList.remove("dragging"));
  const update = () => {
    const [a, b] = planner.cut.pieces.slice(i, i + 2).map((piece) => piece.bits);
    node.setAttribute("aria-valuemax", a + b - 1);
    node.setAttribute("aria-valuenow", a);
    node.setAttribute("aria-valuetext", `${left} ${bits(a)}, ${right} ${bits(b)}`);
  };
  return [node, update];
}

/** Fill `place` with a slider for each field; returns a function that updates them. */
export function rowsOf(planner, place) {
  const rows = planner.cut.pieces.map((_, i) => row(planner, i));
  place.replaceChildren(...rows.map(([node]) => node));
  return () => rows.forEach(([, update]) => update());
}

function row(planner, i) {
  const piece = planner.cut.pieces[i];
  const id = `plan-field-${i}`;
  const slider = el("input", {
    id,
    type: "range",
    min: 1,
    on: { input: () => {
      planner.cut.resize(i, Number(slider.value), planner.kept);
      planner.moved();
    } },
  });
  const out = el("output", { for: id });
  const remove = button("Remove", () => {
    planner.cut.remove(i, planner.kept);
    planner.moved();
    planner.parts.rows.querySelector("input").focus(); // the button is gone
  }, {
    class: "small",
    "aria-label": `Remove ${piece.label}`,
    disabled: planner.cut.pieces.length < 2,
  });
  const node = el("div", { class: "slider" },
    el("label", { for: id },
      el("span", { class: `chip role-${piece.role}`, "aria-hidden": "true" }),
      piece.value === null ? piece.label : `${piece.label} = ${piece.value}`),
    slider, out, remove);
  const update = () => {
    const { bits: now } = planner.cut.pieces[i];
    slider.max = planner.cut.most(i, planner.kept);
    slider.value = now;
    slider.setAttribute("aria-valuetext", bits(now));
    out.textContent = bits(now);
  };
  return [node, update];
}

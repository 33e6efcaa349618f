// The controls of a layout: a bar with movable borders, and a slider for each field. They are
// created once per layout and then updated, so that a drag is not interrupted.

import { button, el } from "./dom.js";
import { bits } from "./format.js";

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

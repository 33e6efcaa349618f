// Line charts: values upward, time to the right until now.

import { el, svg } from "./dom.js";
import { clockSpan, duration, large } from "./format.js";

const [WIDTH, HEIGHT] = [240, 48];
export const SPAN_S = 120;

/**
 * Draw counts since the start, in parts of equal length, as rates, with a function of `line` or
 * `chartIn`; the last part has not ended. Returns the last rate.
 */
export function drawHistory(draw, counts, part_s, label) {
  const whole = counts.length > 1 ? counts.slice(0, -1) : counts;
  const points = whole.map((n, i) => ({ value: n / part_s, ago: (whole.length - 1 - i) * part_s }));
  draw(points, Math.max(1, counts.length) * part_s, label);
  return points.at(-1)?.value ?? 0;
}

/** A line over points, `{value, ago}` with seconds ago, inside an SVG; returns a function. */
export function line(role) {
  const area = svg("path", { class: `area stroke-${role}` });
  const stroke = svg("path", { class: `stroke stroke-${role}` });
  const node = svg("svg", {
    class: "chart",
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: "none",
    role: "img",
  }, area, stroke);
  const draw = (points, span, label) => {
    const top = Math.max(1e-9, ...points.map(({ value }) => value));
    const x = ({ ago }) => (WIDTH - (ago / span) * WIDTH).toFixed(1);
    const y = ({ value }) => (HEIGHT - (value / top) * (HEIGHT - 2)).toFixed(1);
    const path = points.length ? `M${points.map((one) => `${x(one)},${y(one)}`).join("L")}` : "";
    stroke.setAttribute("d", path);
    area.setAttribute("d", path && `${path}L${WIDTH},${HEIGHT}L${x(points[0])},${HEIGHT}Z`);
    const now = points.at(-1)?.value ?? 0;
    node.setAttribute("aria-label", `${label}: now ${large(now)}, at most ` +
      large(Math.max(0, ...points.map(({ value }) => value))));
  };
  return { node, draw };
}

/** A chart with axes inside `node`; returns a function that draws points. `unit`: of values. */
export function chartIn(node, role, title, unit) {
  const { node: picture, draw } = line(role);
  const [most, zero] = [el("span", {}), el("span", { text: "0" })];
  const back = [el("span", {}), el("span", {}), el("span", { text: "now" })];
  const up = el("div", { class: "axis up", "aria-hidden": "true" }, most, zero);
  node.append(el("div", { class: "plot" }, up, picture,
    el("div", { class: "axis back", "aria-hidden": "true" }, back)));
  return (points, span = SPAN_S) => {
    most.textContent = `${large(Math.max(0, ...points.map(({ value }) => value)))} ${unit}`;
    [1, 2].forEach((part, i) => (back[i].textContent = `${clockSpan(span / part)} ago`));
    draw(points, span, `${title}, ${unit}, over the last ${duration(span)}`);
  };
}

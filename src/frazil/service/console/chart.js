// A line chart of the last two minutes, with labelled axes: IDs per second upward, minutes and
// seconds ago to the left.

import { el, svg } from "./dom.js";
import { large } from "./format.js";

const [WIDTH, HEIGHT] = [240, 48];
const SPAN_S = 120;
const TICKS_S = [SPAN_S, SPAN_S / 2, 0];

/** Values with the time of each, as far as the chart shows them. */
export class Series {
  constructor() {
    this.points = [];
  }

  add(value, at = performance.now()) {
    this.points.push({ value, at });
    this.points = this.points.filter((point) => at - point.at <= SPAN_S * 1000);
  }

  get last() {
    return this.points.at(-1)?.value ?? 0;
  }

  get most() {
    return Math.max(0, ...this.points.map(({ value }) => value));
  }
}

/** A chart inside `node`; returns a function that draws a series. `unit`: of its values. */
export function chartIn(node, role, title, unit) {
  const area = svg("path", { class: `area stroke-${role}` });
  const stroke = svg("path", { class: `stroke stroke-${role}` });
  const picture = svg("svg", {
    class: "chart",
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: "none",
    role: "img",
  }, area, stroke);
  const most = el("span", {});
  const zero = el("span", { text: "0" });
  const up = el("div", { class: "axis up", "aria-hidden": "true" }, most, zero);
  const back = el("div", { class: "axis back", "aria-hidden": "true" },
    TICKS_S.map((seconds) => el("span", { text: ago(seconds) })));
  node.append(el("div", { class: "plot" }, up, picture, back));
  return (series) => {
    const top = Math.max(series.most, 1);
    const now = series.points.at(-1)?.at ?? 0;
    const x = ({ at }) => WIDTH - ((now - at) / 1000 / SPAN_S) * WIDTH;
    const y = ({ value }) => HEIGHT - (value / top) * (HEIGHT - 2);
    const points = series.points.map((point) => `${x(point).toFixed(1)},${y(point).toFixed(1)}`);
    const path = points.length ? `M${points.join("L")}` : "";
    const start = points.length ? x(series.points[0]).toFixed(1) : 0;
    stroke.setAttribute("d", path);
    area.setAttribute("d", path && `${path}L${WIDTH},${HEIGHT}L${start},${HEIGHT}Z`);
    most.textContent = `${large(top)} ${unit}`;
    picture.setAttribute("aria-label", `${title}, ${unit}, over the last two minutes: ` +
      `now ${large(series.last)}, at most ${large(series.most)}`);
  };
}

/** Seconds as minutes:seconds. */
function ago(seconds) {
  const text = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  return seconds ? `${text} ago` : "now";
}

// The rates of a namespace in the process that answers.
//
// The service counts since its start. A rate is the difference of two replies of one process; after
// a restart, counting starts again.

import { el, svg } from "./dom.js";
import { count, duration, large } from "./format.js";

const KEPT = 120;
const [WIDTH, HEIGHT] = [240, 48];

/** The cards, inside `place`. */
export class Rates {
  constructor(place) {
    this.place = place;
    this.cards = new Map();
    this.list = el("div", { class: "rates" });
    this.where = el("p", { class: "quiet" });
    place.append(el("h2", { text: "This process" }), this.list, this.where);
    this.clear();
  }

  clear() {
    this.last = new Map();
    this.series = { issued: [], waits: [] };
    this.cards.clear();
    this.list.replaceChildren();
    this.where.textContent = "";
  }

  show(status) {
    const at = performance.now();
    const who = `${status.host}:${status.process}`;
    const before = this.last.get(who);
    this.last.set(who, { ...status, at });
    for (const name of ["issued", "waits"]) {
      const grown = before ? status[name] - before[name] : -1;
      if (grown >= 0) this.series[name].push((grown / (at - before.at)) * 1000);
      this.series[name].splice(0, this.series[name].length - KEPT);
    }
    this.chart("Issued", this.series.issued, `${count(status.issued)} since the start`, "time");
    this.chart("Waits", this.series.waits, waited(status), "sequence");
    this.card("Registry", ...registry(status));
    if (status.claim_left_s !== null) {
      const left = status.claim_left_s;
      this.card("Claim left", left ? duration(left) : "none", left ? "renewed on time" :
        "idle; the next call claims again", "");
    }
    if (status.lead_s !== null) {
      this.card("Lead", duration(status.lead_s), "ahead of the registry's clock", "");
    }
    if (status.exhausted_in_s !== null) {
      const left = status.exhausted_in_s;
      this.card("Layout lifetime", left > 0 ? `${duration(left)} left` : "expired",
        `${left > 0 ? "until " : ""}the time field is full`, left > 0 ? "" : "bad");
    }
    this.where.textContent =
      `Counts of process ${status.process} on ${status.host}; the claims below are of all nodes.`;
  }

  chart(title, values, words, role) {
    const now = values.at(-1) ?? 0;
    const most = Math.max(...values, 0);
    const text = `${large(now)} per second`;
    const card = this.card(title, text, words, "");
    card.chart ??= line(card.node, role);
    card.chart(values, `${title} per second over the last ${duration(KEPT)}: now ${large(now)}, ` +
      `at most ${large(most)}`);
  }

  /** Create or update a card. */
  card(title, value, words, mark) {
    let card = this.cards.get(title);
    if (!card) {
      const [big, small] = [el("div", { class: "value" }), el("p", { class: "quiet" })];
      card = { big, small, node: el("div", {}, el("h3", { text: title }), big, small) };
      this.cards.set(title, card);
      this.list.append(card.node);
    }
    card.node.className = `answer ${mark}`;
    card.big.textContent = value;
    card.small.textContent = words;
    return card;
  }
}

function waited({ waits, failures }) {
  return `${count(waits)} calls waited; ${count(failures)} got no ID`;
}

function registry({ ready, why, trouble_s: trouble }) {
  if (ready && trouble === 0) return ["Ready", "the registry answers", "good"];
  const since = trouble ? ` for ${duration(trouble)}` : "";
  return [ready ? "Ready" : "Not ready", `${why ?? "the registry does not answer"}${since}`, "bad"];
}

/** A line chart; returns a function that redraws it. */
function line(node, role) {
  const area = svg("path", { class: `area stroke-${role}` });
  const stroke = svg("path", { class: `stroke stroke-${role}` });
  const picture = svg("svg", {
    class: "chart",
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    preserveAspectRatio: "none",
    role: "img",
  }, area, stroke);
  node.append(picture);
  return (values, label) => {
    const most = Math.max(...values, 1);
    const x = (i) => WIDTH - ((values.length - 1 - i) * WIDTH) / (KEPT - 1);
    const y = (value) => HEIGHT - 2 - (value / most) * (HEIGHT - 6);
    const points = values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`);
    const path = points.length ? `M${points.join("L")}` : "";
    stroke.setAttribute("d", path);
    area.setAttribute("d", path && `${path}L${WIDTH},${HEIGHT}L${x(0).toFixed(1)},${HEIGHT}Z`);
    picture.setAttribute("aria-label", label);
  };
}

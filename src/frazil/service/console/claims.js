// The claims of a namespace: as sums over the fleet, and as bars, one row per slot.
//
// A member writes its rate when it renews its claim, so the sum follows within half of a claim.
//
// A bar has the used and the remaining part of a claim. If the axis is time, the middle of a bar is
// the time of the registry, and a claim expires at the end of its bar. Otherwise a bar shows the
// claimed part of all numbers given out so far.

import { token } from "./api.js";
import { SPAN_S, chartIn } from "./chart.js";
import { Cards, copyable, el, say, table } from "./dom.js";
import { count, duration, grouped, large, moment } from "./format.js";

const LEAST_PERCENT = 0.01;

/** The cards, inside `place`, or what to run as long as there is no claim. */
export class Fleet {
  constructor(place, namespace) {
    this.namespace = namespace;
    this.cards = new Cards();
    this.empty = el("div", { class: "card lesson", hidden: true });
    place.append(el("h2", { text: "All nodes" }), this.empty, this.cards.node);
    this.clear();
  }

  clear() {
    this.cards.clear();
    this.rates = [];
    this.empty.hidden = true;
  }

  show({ fleet, counts }) {
    const { members, hosts, rate_hz: rate, unknown, nodes, capacity_hz: capacity } = fleet;
    const now = performance.now() / 1000;
    this.rates.push({ value: rate, at: now });
    this.rates = this.rates.filter(({ at }) => now - at <= SPAN_S);
    const never = members + counts.idle + counts.free === 0;
    if (never && this.empty.hidden) this.empty.replaceChildren(...lesson(this.namespace()));
    this.empty.hidden = !never;
    this.cards.node.hidden = never;
    const late = unknown ? `; ${count(unknown)} not known yet` : "";
    const words = `the sum of the last renewals${late}`;
    const card = this.cards.show("Total rate", `${large(rate)} IDs/s`, words, "wide");
    card.draw ??= chartIn(card.node, "time", "Total rate", "IDs/s");
    card.draw(this.rates.map(({ value, at }) => ({ value, ago: now - at })));
    const places = `on ${count(hosts)} host${hosts === 1 ? "" : "s"}`;
    const rests = "by default a node keeps its claim for a minute after its last ID";
    const holding = members ? places : rests;
    this.cards.show("Members with a claim", count(members), holding);
    if (nodes > 1) {
      const of = `${count(members)} of ${count(nodes)}`;
      this.cards.show("Node numbers used", percent(members / nodes), of);
    }
    if (capacity) {
      const of = `of ${large(capacity)} IDs/s that all node numbers can issue`;
      this.cards.show("Capacity used", percent(rate / capacity), of);
    }
  }
}

/** What to run before there is a claim. */
function lesson(namespace) {
  const here = `${location.origin}/`;
  const guard = token.get() ? ' -H "Authorization: Bearer $FRAZIL_TOKEN"' : "";
  const lines = [
    ["From a shell", `curl${guard} ${here}v1/${encodeURIComponent(namespace)}/id`],
    ["From Python", `frazil.open("${here}${encodeURIComponent(namespace)}")()`],
  ];
  return [
    el("h3", { text: "No claim yet" }),
    el("p", {}, "A program claims a node number when it makes its first ID. Make one, and its ",
      "claim appears here:"),
    copyable(lines, "the line"),
    el("p", { class: "quiet" }, "Programs that open the registry themselves appear too; those ",
      "that use memory: do not."),
  ];
}

function percent(share) {
  const amount = share * 100;
  if (amount > 0 && amount < LEAST_PERCENT) return `< ${LEAST_PERCENT} %`;
  return `${amount === 0 || amount >= 10 ? Math.round(amount) : amount.toPrecision(2)} %`;
}

const SHOWN = 200;
const PARTS = 10_000n; // per bar; only shares of a bar are converted from BigInt to Number
const STATES = { held: "held", idle: "idle: the claim has expired", free: "free: given back" };

/** The list, inside `place`. */
export class Claims {
  constructor(place) {
    this.head = el("h2", { text: "Claims" });
    this.summary = el("p", { class: "summary" });
    this.legend = el("p", { class: "quiet legend" });
    this.more = el("p", { class: "quiet" });
    this.free = el("input", { type: "checkbox", id: "claims-free" });
    this.free.addEventListener("change", () => this.last && this.show(this.last));
    this.table = table("Claims by node", "stack claims",
      ["Node", "State", "#IDs/s", "Claim", "Holder", "Since (UTC)"]);
    this.body = this.table.body;
    this.hosts = table("Instances by host", "stack",
      ["Host", "Processes", "#Nodes", "#IDs/s", "Longest claim until"]);
    place.append(
      el("div", { class: "row between" }, this.head,
        el("label", { class: "inline" }, this.free, "Show free slots")),
      this.summary, this.hosts.node, this.table.node, this.legend, this.more);
    this.clear();
  }

  clear() {
    this.rows = new Map();
    this.last = null;
    this.told = "";
    this.body.replaceChildren();
    this.summary.textContent = "Reading the registry…";
    this.table.node.hidden = this.hosts.node.hidden = true;
    this.legend.textContent = this.more.textContent = "";
  }

  show(found) {
    this.last = found;
    const wanted = found.slots.filter(({ state }) => state !== "free" || this.free.checked);
    const shown = wanted.slice(0, SHOWN).sort((a, b) => Number(a.node) - Number(b.node));
    const scale = scaleOf(found, shown);
    const before = this.rows;
    this.rows = new Map();
    for (const slot of shown) {
      const key = `${slot.node} ${JSON.stringify(slot.constants)}`;
      const row = before.get(key) ?? new Row(this.table);
      row.show(slot, scale);
      this.rows.set(key, row);
    }
    const lines = [...this.rows.values()].map(({ node }) => node);
    const there = this.body.children;
    if (lines.length !== there.length || lines.some((line, i) => line !== there[i])) {
      this.body.replaceChildren(...lines);
    }
    this.table.node.hidden = shown.length === 0;
    const held = found.slots.filter(({ state }) => state === "held");
    this.hosts.node.hidden = held.length === 0;
    this.hosts.show([...grouped(held, ({ host }) => host)].map(instances));
    this.legend.textContent = shown.length ? scale.words : "";
    const left = wanted.length - shown.length;
    this.more.textContent = left > 0 ? `${count(left)} more are not shown.` : "";
    this.tell(found);
  }

  tell({ counts, nodes, away }) {
    const { held, idle, free } = counts;
    const silent = away ? ` ${count(away)} parts of the registry do not answer.` : "";
    const past = idle || free ? `; ${count(idle)} idle, ${count(free)} free` : "";
    const rests = held ? "" : " By default a node keeps its claim for a minute after its last ID.";
    const text = `${count(held)} of ${count(nodes)} node numbers are held${past}.${rests}${silent}`;
    if (text === this.told) return;
    this.told = text;
    this.summary.textContent = text;
    say(text);
  }
}

/** What a host holds. */
function instances([host, slots]) {
  const processes = slots.map(({ process }) => process ?? "–").sort((a, b) => a - b);
  const rates = slots.map(({ rate_hz: rate }) => rate ?? 0);
  const end = (slot) => BigInt(slot.until_value);
  const { until } = slots.reduce((a, b) => (end(a) > end(b) ? a : b));
  return [host ?? "–", [...new Set(processes)].join(", "), count(slots.length),
    count(rates.reduce((sum, rate) => sum + rate, 0)), moment(until).slice(0, 19)];
}

/** A row of the table; it is reused while its slot is shown, so that its bar can move. */
class Row {
  constructor({ row }) {
    this.used = el("i", { class: "used" });
    this.ahead = el("i", { class: "ahead" });
    this.bar = el("div", { class: "claim", role: "img" }, this.used, this.ahead);
    this.left = el("span", { class: "quiet left" });
    this.badge = el("span", {});
    this.node = row(["", this.badge, "", [this.bar, this.left], "", ""]);
    this.cells = this.node.children;
  }

  show(slot, scale) {
    const constants = Object.entries(slot.constants).filter(([, value]) => value !== "0");
    const named = constants.map(([name, value]) => ` ${name}=${value}`).join("");
    put(this.cells[0], `${count(slot.node)}${named}`);
    put(this.badge, slot.state);
    this.badge.className = `badge ${slot.state}`;
    this.badge.title = STATES[slot.state];
    put(this.cells[4], slot.host ? `${slot.host}${slot.process ? `:${slot.process}` : ""}` : "–");
    put(this.cells[2], slot.rate_hz === null ? "–" : count(slot.rate_hz));
    put(this.cells[5], slot.since ? moment(slot.since).slice(0, 19) : "–");
    const { start, now, until } = scale.place(slot);
    span(this.used, start, Math.min(now, until));
    span(this.ahead, Math.max(start, now), until);
    const words = scale.left(slot);
    put(this.left, words);
    this.node.className = slot.state;
    this.bar.setAttribute("aria-label", `Claim of node ${slot.node}: ${words}`);
  }
}

function span(node, from, to) {
  node.style.setProperty("left", `${from}%`);
  node.style.setProperty("width", `${Math.max(0, to - from)}%`);
}

function put(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Converts values of the axis to positions on a bar. */
function scaleOf(found, slots) {
  const ends = slots.map(({ until_value: until }) => BigInt(until));
  const most = ends.reduce((a, b) => (a > b ? a : b), 1n);
  if (found.now_value === null) return counted(most);
  const now = BigInt(found.now_value);
  const reach = most - now > 0n ? ((most - now) * 5n) / 4n + 1n : 1n;
  const place = (value) => share(BigInt(value) - (now - reach), reach * 2n);
  const seconds = (text) => (Date.parse(text) - Date.parse(found.now)) / 1000;
  const longest = Math.max(...slots.map(({ until }) => seconds(until)), 0);
  return {
    words: `The line in the middle is the registry's time, ${moment(found.now).slice(0, 19)}. ` +
      `The part on its left is used up; the part on its right lasts up to ${duration(longest)}.`,
    place: (slot) => ({ start: place(slot.start_value), now: 50, until: place(slot.until_value) }),
    left: ({ until }) => {
      const left = seconds(until);
      return left > 0 ? `${duration(left)} left` : `expired ${duration(-left)} ago`;
    },
  };
}

function counted(most) {
  return {
    words: `Bars show 0 to ${count(most)}, the numbers given out so far.`,
    place: (slot) => {
      const start = share(BigInt(slot.start_value), most);
      return { start, now: start, until: share(BigInt(slot.until_value), most) };
    },
    left: (slot) => `${count(slot.start_value)} to ${count(BigInt(slot.until_value) - 1n)}`,
  };
}

/** A share of a whole in percent, from 0 to 100. */
function share(part, whole) {
  const parts = (part * PARTS) / whole;
  if (parts <= 0n) return 0;
  return parts >= PARTS ? 100 : Number(parts) / 100;
}

// The fleet: all members of a namespace together, from the claims in the registry.
//
// A member writes its rate when it renews its claim, so the sum follows within half of a claim.

import { token } from "./api.js";
import { SPAN_S, chartIn } from "./chart.js";
import { Cards, copyable, el } from "./dom.js";
import { count, large } from "./format.js";

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

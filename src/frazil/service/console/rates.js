// The rates of a namespace in the process that answers.
//
// The service counts since its start. A rate is the difference of two replies of one process; after
// a restart, counting starts again.

import { Cards } from "./cards.js";
import { Series, chartIn } from "./chart.js";
import { el } from "./dom.js";
import { count, duration, large } from "./format.js";

/** The cards, inside `place`. */
export class Rates {
  constructor(place) {
    this.cards = new Cards();
    this.where = el("p", { class: "quiet" });
    place.append(el("h2", { text: "The process that answers" }), this.cards.node, this.where);
    this.clear();
  }

  clear() {
    this.last = new Map();
    this.series = { issued: new Series(), waits: new Series() };
    this.cards.clear();
    this.where.textContent = "";
  }

  show(status) {
    const at = performance.now();
    const who = `${status.host}:${status.process}`;
    const before = this.last.get(who);
    this.last.set(who, { ...status, at });
    for (const name of ["issued", "waits"]) {
      const grown = before ? status[name] - before[name] : -1;
      if (grown >= 0) this.series[name].add((grown / (at - before.at)) * 1000, at);
    }
    this.chart("Issued", "issued", `${count(status.issued)} since the start`, "time", "IDs/s");
    this.chart("Waits", "waits", waited(status), "sequence", "waits/s");
    this.cards.show("Registry", ...registry(status));
    if (status.claim_left_s !== null) {
      const left = status.claim_left_s;
      this.cards.show("Claim left", left ? duration(left) : "none", left ? "renewed on time" :
        "idle; the next call claims again");
    }
    if (status.lead_s !== null) {
      this.cards.show("Lead", duration(status.lead_s), "ahead of the registry's clock");
    }
    if (status.exhausted_in_s !== null) {
      const left = status.exhausted_in_s;
      this.cards.show("Layout lifetime", left > 0 ? `${duration(left)} left` : "expired",
        `${left > 0 ? "until " : ""}the time field is full`, left > 0 ? "" : "bad");
    }
    this.where.textContent =
      `Counts of process ${status.process} on ${status.host}; the other parts show all nodes.`;
  }

  chart(title, name, words, role, unit) {
    const series = this.series[name];
    const card = this.cards.show(title, `${large(series.last)} ${unit}`, words);
    card.draw ??= chartIn(card.node, role, title, unit);
    card.draw(series);
  }
}

function waited({ waits, failures }) {
  return `${count(waits)} call${waits === 1 ? "" : "s"} waited; ${count(failures)} got no ID`;
}

function registry({ ready, why, trouble_s: trouble }) {
  if (ready && trouble === 0) return ["Ready", "the registry answers", "good"];
  const since = trouble ? ` for ${duration(trouble)}` : "";
  return [ready ? "Ready" : "Not ready", `${why ?? "the registry does not answer"}${since}`, "bad"];
}

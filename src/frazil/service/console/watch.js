// The part `Watch`: requests status and claims each second while it is visible.

import { ask, within } from "./api.js";
import { Claims } from "./claims.js";
import { byId, showProblem } from "./dom.js";
import { Fleet } from "./fleet.js";
import { Rates } from "./rates.js";

const EVERY_MS = 1_000;

/** The part `Watch`. `namespace` returns the selected namespace. */
export class Watch {
  constructor(namespace) {
    this.namespace = namespace;
    this.round = 0;
    this.fleet = new Fleet(byId("fleet"), namespace);
    this.claims = new Claims(byId("claims"));
    this.rates = new Rates(byId("rates"));
    this.seen = false;
    this.readAt = null; // when the claims were read last
    document.addEventListener("visibilitychange", () => this.start());
  }

  begin() {
    this.start();
  }

  enter() {
    this.seen = true;
    this.start();
  }

  leave() {
    this.seen = false;
  }

  changed() {
    this.readAt = null;
    this.fleet.clear();
    this.claims.clear();
    this.rates.clear();
    this.start();
  }

  async start() {
    const round = ++this.round;
    while (this.seen && !document.hidden && round === this.round && this.namespace()) {
      const namespace = this.namespace();
      const asked = ["status", "claims"].map((what) => ask(within(namespace, what)));
      const [status, claims] = await Promise.allSettled(asked);
      if (round !== this.round) return;
      if (status.status === "fulfilled") this.rates.show(status.value);
      if (claims.status === "fulfilled") this.readAt = new Date();
      if (claims.status === "fulfilled") {
        this.fleet.show(claims.value);
        this.claims.show(claims.value);
      }
      const failed = [status, claims].find((one) => one.status === "rejected")?.reason;
      byId("rates").classList.toggle("stale", status.status === "rejected");
      for (const id of ["fleet", "claims"]) {
        byId(id).classList.toggle("stale", claims.status === "rejected");
      }
      // The banner of the page reports a lost connection.
      const unread = failed?.status === 503 && failed === claims.reason;
      this.tell(unread ? this.unknown(failed) : failed?.status ? failed : null);
      if (failed?.status === 401) return; // wait for another token
      await new Promise((done) => setTimeout(done, EVERY_MS));
    }
  }

  /** Only the reading failed: processes make IDs as long as their claims last. */
  unknown(problem) {
    const asOf = this.readAt
      ? `The claims below are as of ${this.readAt.toISOString().slice(11, 19)} UTC.`
      : "They were not read yet.";
    const rest = "Processes go on until the end of their claims.";
    return {
      title: "The claims are not known now",
      message: `${problem.message}\n${asOf} ${rest}`,
    };
  }

  tell(problem) {
    const text = problem?.message ?? "";
    if (this.told === text) return; // announce it once, not every second
    this.told = text;
    showProblem(byId("watch-problem"), problem);
  }
}

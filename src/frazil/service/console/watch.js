// The part `Watch`: requests the overview and the claims each second while it is visible.

import { ask, within } from "./api.js";
import { Claims, Fleet } from "./claims.js";
import { byId, showProblem } from "./dom.js";
import { clock } from "./format.js";
import { Overview } from "./overview.js";

const EVERY_MS = 1_000;

/** The part `Watch`. `namespace` returns the selected namespace; `choose` selects another one. */
export class Watch {
  constructor(namespace, choose) {
    this.namespace = namespace;
    this.round = 0;
    this.overview = new Overview(choose);
    this.fleet = new Fleet(byId("fleet"), namespace);
    this.claims = new Claims(byId("claims"));
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
    this.start();
  }

  async start() {
    const round = ++this.round;
    while (this.seen && !document.hidden && round === this.round && this.namespace()) {
      const namespace = this.namespace();
      const [told, claims] = await Promise.allSettled(
        ["v1/overview", within(namespace, "claims")].map((path) => ask(path)));
      if (round !== this.round) return;
      if (told.value) this.overview.show(told.value, namespace);
      if (claims.value) {
        this.readAt = told.value?.as_of ?? new Date().toISOString();
        this.fleet.show(claims.value);
        this.claims.show(claims.value);
      }
      const failed = [told, claims].find((one) => one.status === "rejected")?.reason;
      for (const id of ["overview", "workers", "replies", "tokens", "fleet", "claims"]) {
        const { status } = id === "fleet" || id === "claims" ? claims : told;
        byId(id).classList.toggle("stale", status === "rejected");
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
      ? `The claims below are as of ${clock(this.readAt)}.`
      : "This page has not read them yet.";
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

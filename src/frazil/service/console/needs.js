// From a need to a layout: so many nodes, so many IDs per second of each, until a year. The service
// proposes layouts, and one of them is taken with a click.

import { ask } from "./api.js";
import { button, el, say, showProblem } from "./dom.js";
import { bits, count, large, duration } from "./format.js";

const NEED = { nodes: 200, rate_hz: 5_000, year: new Date().getUTCFullYear() + 35 };
const WORDS = { nodes: "Nodes", rate_hz: "IDs per second of each", year: "Until the end of" };

/** The form and its proposals, inside `place`; `take` gets the proposal that was chosen. */
export class Needs {
  constructor(place, take) {
    this.take = take;
    this.inputs = Object.entries(NEED).map(([name, value]) =>
      el("input", {
        id: `need-${name}`,
        name,
        type: "number",
        min: 1,
        step: name === "rate_hz" ? "any" : 1,
        required: true,
        value,
        "aria-describedby": "need-problem",
      }));
    const fields = this.inputs.map((input) =>
      el("div", { class: "field" },
        el("label", { for: input.id, text: WORDS[input.name] }), input));
    this.problem = el("div", { id: "need-problem", class: "problem", role: "alert", hidden: true });
    this.list = el("div", { class: "proposals" });
    const form = el("form", { class: "row needs", on: { submit: (event) => this.ask(event) } },
      fields,
      el("button", { type: "submit", class: "first", text: "Propose layouts" }));
    const title = el("h2", { text: "What do you need?" });
    place.append(el("div", { class: "card" }, title, form, this.problem, this.list));
  }

  async ask(event) {
    event.preventDefault();
    const need = Object.fromEntries(this.inputs.map(({ name, value }) => [name, Number(value)]));
    try {
      const { proposals } = await ask("v1/plan", { need });
      showProblem(this.problem, null);
      this.list.replaceChildren(...proposals.map((plan, i) => this.proposal(plan, i)));
      say(`${proposals.length} layout${proposals.length === 1 ? "" : "s"} proposed`);
    } catch (problem) {
      this.list.replaceChildren();
      showProblem(this.problem, problem);
    }
  }

  proposal(plan, i) {
    const id = `proposal-${i}`;
    const fits = plan.javascript_safe ? "JavaScript numbers hold it exactly" :
      plan.bigint_safe ? "a signed BIGINT holds it" : "store it as a UUID, bytes or text";
    const rows = [
      [`${duration(plan.left_s)} left`, `until ${plan.exhausted.slice(0, 10)}`],
      [`${large(plan.nodes)} nodes`, `${large(plan.ids_per_second)} IDs per second each`],
      [bits(plan.bits), `${fits}; ${count(plan.characters[plan.encoding])} characters of ` +
        plan.encoding],
    ];
    return el("section", { class: "answer proposal", "aria-labelledby": id },
      el("h3", { id, text: plan.scheme === plan.layout ? `${plan.bits} bits` : plan.scheme }),
      el("code", { text: plan.layout }),
      el("ul", {}, rows.map(([strong, rest]) =>
        el("li", {}, el("strong", { text: strong }), `, ${rest}`))),
      button("Take this layout", () => this.take(plan), { "aria-describedby": id }));
  }
}

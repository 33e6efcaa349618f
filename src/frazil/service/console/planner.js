// The planner: the page moves bits, and the service computes the capacity. From a need (so many
// nodes, so many IDs per second of each, until a year), the service proposes layouts, and one of
// them is taken with a click.

import { ask } from "./api.js";
import { Cards, button, copier, el, say, showProblem } from "./dom.js";
import { bits, count, duration, large, moment } from "./format.js";
import { Cut, barOf, rowsOf } from "./layout.js";

const NEED = { nodes: 200, rate_hz: 5_000, year: new Date().getUTCFullYear() + 35 };
const WORDS = { nodes: "Nodes", rate_hz: "IDs per second of each", year: "Until the end of" };

/** The form and its proposals, inside `place`; `take` gets the proposal that was chosen. */
class Needs {
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

const TICKS = ["1us", "10us", "100us", "1ms", "10ms", "100ms", "1s", "10s"];
const ADDED = { time: "Time", run: "Run", node: "Node", sequence: "Sequence" };
const PAUSE_MS = 250;
const FEW_YEARS_S = 5 * 31_556_952;
const SHORT_S = 172_800; // show the end of shorter periods with the time of day

/** The part `Plan`, inside `place`. */
export class Planner {
  constructor(place) {
    this.cut = null;
    this.spec = "";
    this.busy = false;
    this.again = false;
    this.overtaken = false;
    this.seen = false;
    this.shape = "";
    this.widgets = [];
    this.parts = controls(this);
    this.needs = new Needs(place, (plan) => {
      this.take(plan);
      this.parts.text.focus(); // continue from its layout string
    });
    place.append(...this.parts.all);
  }

  get kept() {
    return this.parts.keep.checked;
  }

  begin({ layouts }) {
    const { preset } = this.parts;
    const known = layouts.map(({ scheme }) => el("option", { value: scheme, text: scheme }));
    preset.replaceChildren(el("option", { value: "", text: "custom" }), ...known);
    this.layouts = new Map(layouts.map((plan) => [plan.scheme, plan]));
    preset.value = this.spec;
    if (this.cut) this.ask();
    else this.choose("icicle");
  }

  enter() {
    this.seen = true;
  }

  leave() {
    this.seen = false;
  }

  choose(name) {
    const plan = this.layouts.get(name);
    if (plan) this.take(plan);
  }

  /** Show a plan of the service, a scheme or a proposal, and its layout. */
  take(plan) {
    this.spec = this.layouts.has(plan.scheme) ? plan.scheme : "";
    this.typed = undefined;
    this.overtaken = this.busy; // a pending reply belongs to an older request
    this.again = false;
    this.cut = new Cut(plan);
    this.draw();
    this.answer(plan);
  }

  /** The user changed the layout. */
  moved() {
    this.spec = "";
    this.typed = undefined;
    this.draw();
    this.ask();
  }

  /** Request a plan of the current layout: one request at a time, and the last one counts. */
  async ask(text) {
    if (text !== undefined) this.typed = text;
    this.again = this.busy;
    if (this.busy) return;
    this.busy = true;
    this.overtaken = false;
    const typed = this.typed;
    this.typed = undefined;
    const layout = typed ?? (this.spec || String(this.cut));
    try {
      const plan = await ask("v1/plan", { layout });
      if (this.overtaken) return;
      if (typed !== undefined && !this.again) {
        this.spec = this.layouts.has(typed) ? typed : "";
        this.cut = new Cut(plan);
        this.draw(true);
      }
      this.answer(plan);
    } catch (problem) {
      if (this.overtaken) return;
      if (!problem.status) this.typed ??= typed; // retried when the service is back
      this.answer(null, problem);
    } finally {
      this.busy = false;
      if (this.again) this.ask();
    }
  }

  answer(plan, problem) {
    const { problem: place, answers, text } = this.parts;
    showProblem(place, problem);
    text.setAttribute("aria-invalid", String(Boolean(problem)));
    answers.node.classList.toggle("stale", Boolean(problem));
    if (plan) showPlan(plan, answers);
    if (plan && this.seen) say(spoken(plan));
  }

  draw(typed = false) {
    const { bar, rows, text, preset, tick, epoch, time, sum, adders } = this.parts;
    const { cut } = this;
    const shape = cut.pieces.map(({ label, value }) => `${label}=${value}`).join(" ");
    if (shape !== this.shape) {
      this.shape = shape;
      this.widgets = [barOf(this, bar), rowsOf(this, rows)];
    }
    for (const update of this.widgets) update();
    if (!typed) text.value = String(cut);
    preset.value = this.spec;
    time.hidden = !cut.has("time");
    if (![...tick.options].some(({ value }) => value === cut.tick)) {
      tick.append(el("option", { value: cut.tick, text: cut.tick }));
    }
    tick.value = cut.tick;
    if (document.activeElement !== epoch) epoch.value = cut.epoch;
    sum.textContent = `${bits(cut.bits)} in total`;
    const full = cut.has("time") ? "run" : cut.has("run") ? "time" : "";
    const missing = Object.keys(ADDED).filter((role) => !cut.has(role) && role !== full);
    adders.replaceChildren(...missing.map((role) => adder(this, role)));
  }
}

/** The permanent elements of the part, by name. */
function controls(planner) {
  const input = (tag, name, event, act, props = {}) => {
    const node = el(tag, { id: `plan-${name}`, on: { [event]: () => act(node) }, ...props });
    return node;
  };
  const typed = { type: "text", spellcheck: "false" };
  const preset = input("select", "preset", "change", ({ value }) => planner.choose(value));
  let waiting = 0;
  const text = input("input", "text", "input", ({ value }) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => planner.ask(value.trim()), PAUSE_MS);
  }, { ...typed, autocomplete: "off", "aria-describedby": "plan-problem" });
  const tick = input("select", "tick", "change", ({ value }) => {
    planner.cut.tick = value;
    planner.moved();
  });
  tick.append(...TICKS.map((one) => el("option", { value: one, text: one })));
  const epoch = input("input", "epoch", "change", ({ value }) => {
    planner.cut.epoch = value.trim();
    planner.moved();
  }, typed);
  const keep = input("input", "keep", "change", () => planner.draw(),
    { type: "checkbox", checked: true });
  const field = (label, input, more) =>
    el("div", { class: "field" }, el("label", { for: input.id, text: label }), input, more);
  const bar = el("div", { class: "bar" });
  const rows = el("div", { class: "sliders" });
  const sum = el("strong", {});
  const adders = el("span", { class: "row" });
  const problem = el("div", { id: "plan-problem", class: "problem", role: "alert", hidden: true });
  const answers = new Cards({ "aria-label": "Plan", role: "group" });
  const time = el("div", { class: "row" }, field("Tick", tick), field("Epoch", epoch));
  const copy = copier(() => text.value, "the layout string");
  const form = el("div", { class: "row wide" },
    field("Start with", preset),
    el("div", { class: "field grows" }, el("label", { for: text.id, text: "Layout string" }),
      el("div", { class: "joined" }, text, copy)));
  const below = el("div", { class: "row between" },
    el("span", { class: "row" }, sum, el("label", { class: "inline" }, keep, "Keep the total")),
    adders);
  const card = el("div", { class: "card" }, form, problem, bar, rows, below, time);
  const title = el("h2", { text: "What the layout holds" });
  const all = [card, title, answers.node];
  return { all, preset, text, tick, epoch, keep, bar, rows, sum, adders, problem, answers, time };
}

function adder(planner, role) {
  return button(`Add ${ADDED[role].toLowerCase()}`, () => {
    const at = planner.cut.add(role, planner.kept);
    planner.moved();
    planner.parts.rows.querySelectorAll("input")[at]?.focus(); // the button is gone
  }, { class: "small" });
}

/** Show a plan in `cards`. */
function showPlan(plan, cards) {
  const timed = plan.lasts_s !== null;
  const yes = (good, words, bad) => [good ? "Yes" : "No", good ? words : bad, good];
  const [each, all] = [plan.ids_per_second, plan.ids_per_second_in_all];
  const rate = timed
    ? [large(all), `IDs per second; ${large(each)} per node`]
    : [large(plan.ids_per_node), plan.axis === "run" ? "IDs per run" : "IDs per node"];
  const shown = [
    lasting(plan),
    ["Nodes", large(plan.nodes), "can issue at the same time"],
    ["Capacity", ...rate],
    ["JavaScript", ...yes(plan.javascript_safe, "numbers represent every ID exactly",
      "IDs exceed 2⁵³: use strings")],
    ["BIGINT", ...yes(plan.bigint_safe, "a signed 64-bit column holds every ID",
      "IDs exceed 2⁶³, the limit of a signed column")],
    ["Sorts by time", ...yes(plan.sorted_by_time, "older IDs are smaller numbers",
      plan.unsorted)],
  ];
  const letters = Object.entries(plan.characters).map(([name, n]) => `${name} ${n}`).join(" · ");
  shown.push(["Characters", letters, `at most; the largest ID is ${count(plan.highest)}`, "long"]);
  for (const [title, value, words, mark] of shown) {
    cards.show(title, value, words, { true: "good", false: "bad" }[mark] ?? mark ?? "");
  }
}

/** The remaining lifetime, and the whole lifetime since the epoch. */
function lasting({ lasts_s: lasts, left_s: left, exhausted }) {
  if (lasts === null) return ["Lifetime", "Unlimited", "the layout has no time field", null];
  if (left === null) return ["Lifetime", duration(lasts), "from the epoch that you choose", null];
  const exact = lasts < SHORT_S || exhausted.startsWith("year");
  const end = exact ? moment(exhausted) : exhausted.slice(0, 10);
  if (left <= 0) {
    const words = `${end}, ${duration(-left)} ago, after ${duration(lasts)}`;
    return ["Lifetime", "Expired", words, false];
  }
  const words = `of ${duration(lasts)}, until ${end}`;
  return ["Lifetime", `${duration(left)} left`, words, left > FEW_YEARS_S];
}

/** A plan in one sentence. */
function spoken(plan) {
  const gone = plan.left_s > 0 ? `${duration(plan.left_s)} left of ` : "expired after ";
  const left = plan.left_s === null ? "lasts " : gone;
  const lasts = plan.lasts_s === null ? "no time field" : `${left}${duration(plan.lasts_s)}`;
  const safe = plan.bigint_safe ? "fits BIGINT" : "does not fit BIGINT";
  return `${bits(plan.bits)}, ${lasts}, ${large(plan.nodes)} nodes, ${safe}`;
}

// What a layout carries, as the service answered it, in cards and in one sentence to be read out.

import { el } from "./dom.js";
import { bits, count, large, moment, years } from "./format.js";

/** The cards of a plan. */
export function cards(plan) {
  const timed = plan.years !== null;
  const yes = (good, words, bad) => [good ? "Yes" : "No", good ? words : bad, good];
  const lasts = timed
    ? [years(plan.years), plan.exhausted ? `until ${moment(plan.exhausted).slice(0, 10)}` : ""]
    : ["No end in time", "there is no time in it"];
  const [each, all] = [plan.ids_per_second, plan.ids_per_second_in_all];
  const rate = timed
    ? [large(all), `IDs a second; ${large(each)} of each node`]
    : [large(plan.ids_per_node), plan.axis === "run" ? "IDs of a run" : "IDs of a node"];
  const shown = [
    ["Lasts", ...lasts, plan.years_left === null ? null : plan.years_left > 5],
    ["Nodes", large(plan.nodes), "may issue at once"],
    ["Carries", ...rate],
    ["JavaScript", ...yes(plan.javascript_safe, "every ID is exact as a number",
      "IDs reach 2⁵³: keep them as text")],
    ["BIGINT", ...yes(plan.bigint_safe, "a signed 64-bit column holds every ID",
      "IDs reach 2⁶³, where a signed column ends")],
    ["Sorts by time", ...yes(plan.sorted_by_time, "older IDs are smaller numbers",
      plan.unsorted)],
  ];
  const letters = Object.entries(plan.characters).map(([name, n]) => `${name} ${n}`).join(" · ");
  return [
    ...shown.map(([title, value, words, good]) => card(title, value, words, good)),
    card("Characters", letters, `at most; the largest is ${count(plan.highest)}`, null, "long"),
  ];
}

function card(title, value, words, good, more = "") {
  const mark = good === true ? "good" : good === false ? "bad" : "";
  return el(
    "div",
    { class: `answer ${mark} ${more}` },
    el("h3", { text: title }),
    el("p", { class: "value", text: value }),
    el("p", { class: "quiet", text: words }),
  );
}

/** A plan in short. */
export function spoken(plan) {
  const lasts = plan.years === null ? "no time" : `lasts ${years(plan.years)}`;
  const safe = plan.bigint_safe ? "fits BIGINT" : "does not fit BIGINT";
  return `${bits(plan.bits)}, ${lasts}, ${large(plan.nodes)} nodes, ${safe}`;
}

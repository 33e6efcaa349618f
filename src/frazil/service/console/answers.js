// What a layout carries, as the service answered it, in cards and in one sentence to be read out.

import { el } from "./dom.js";
import { bits, count, large, lapse, moment } from "./format.js";

const FEW_YEARS_S = 5 * 31_556_952;
const SHORT_S = 172_800; // what lasts two days or less ends at an hour, and not on a day

/** The cards of a plan. */
export function cards(plan) {
  const timed = plan.lasts_s !== null;
  const yes = (good, words, bad) => [good ? "Yes" : "No", good ? words : bad, good];
  const [each, all] = [plan.ids_per_second, plan.ids_per_second_in_all];
  const rate = timed
    ? [large(all), `IDs a second; ${large(each)} of each node`]
    : [large(plan.ids_per_node), plan.axis === "run" ? "IDs of a run" : "IDs of a node"];
  const shown = [
    lasting(plan),
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

/** How long it goes on, and how long it does in all, which is counted from its epoch. */
function lasting({ lasts_s: lasts, left_s: left, exhausted }) {
  if (lasts === null) return ["Lasts", "No end in time", "there is no time in it", null];
  if (left === null) return ["Lasts", lapse(lasts), "from an epoch of your choice", null];
  const exact = lasts < SHORT_S || exhausted.startsWith("year");
  const end = exact ? moment(exhausted) : exhausted.slice(0, 10);
  if (left <= 0) {
    return ["Lasts", "Ran out", `${end}, ${lapse(-left)} ago, after ${lapse(lasts)}`, false];
  }
  return ["Lasts", `${lapse(left)} left`, `of ${lapse(lasts)}, until ${end}`, left > FEW_YEARS_S];
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
  const gone = plan.left_s > 0 ? `${lapse(plan.left_s)} left of ` : "ran out after ";
  const left = plan.left_s === null ? "lasts " : gone;
  const lasts = plan.lasts_s === null ? "no time" : `${left}${lapse(plan.lasts_s)}`;
  const safe = plan.bigint_safe ? "fits BIGINT" : "does not fit BIGINT";
  return `${bits(plan.bits)}, ${lasts}, ${large(plan.nodes)} nodes, ${safe}`;
}

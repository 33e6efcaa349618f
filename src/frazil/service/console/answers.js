// Shows a plan of the service as cards, and as one sentence for screen readers.

import { bits, count, large, duration, moment } from "./format.js";

const FEW_YEARS_S = 5 * 31_556_952;
const SHORT_S = 172_800; // show the end of shorter periods with the time of day

/** Show a plan in `cards`. */
export function showPlan(plan, cards) {
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
export function spoken(plan) {
  const gone = plan.left_s > 0 ? `${duration(plan.left_s)} left of ` : "expired after ";
  const left = plan.left_s === null ? "lasts " : gone;
  const lasts = plan.lasts_s === null ? "no time field" : `${left}${duration(plan.lasts_s)}`;
  const safe = plan.bigint_safe ? "fits BIGINT" : "does not fit BIGINT";
  return `${bits(plan.bits)}, ${lasts}, ${large(plan.nodes)} nodes, ${safe}`;
}

// Formats numbers and times. IDs and values of an axis arrive as strings, and calculations use
// BigInt: a Number above 2**53 would silently lose digits.

const COUNT = new Intl.NumberFormat("en");
const UNITS = [
  [31_556_952, "year"],
  [31_556_952 / 12, "month"],
  [86_400, "day"],
  [3_600, "hour"],
  [60, "minute"],
];
const LARGE = [
  [1e15, "quadrillion"],
  [1e12, "trillion"],
  [1e9, "billion"],
];

/** 4096 as 4,096; takes a Number, a BigInt, or a text of digits. */
export function count(value) {
  return COUNT.format(typeof value === "string" ? BigInt(value) : value);
}

/** A rate or capacity: exact if that is readable, otherwise in words. */
export function large(value) {
  if (value < 1 && value > 0) return value.toPrecision(2);
  const [size, name] = LARGE.find(([least]) => value >= least) ?? [1, ""];
  if (size === 1) return COUNT.format(value < 10 ? Math.round(value * 10) / 10 : Math.round(value));
  if (value >= 1e18) return value.toExponential(1).replace("e+", " × 10^");
  return `${COUNT.format(Math.round(value / size * 10) / 10)} ${name}`;
}

/** Seconds as the largest unit that fits, with one digit below ten, up to many years. */
export function duration(seconds) {
  const [size, name] = UNITS.find(([least]) => seconds >= least) ?? [1, "second"];
  const amount = seconds / size;
  if (size === 1 && amount < 0.9995) return `${Math.round(amount * 1000)} ms`;
  const shown = large(Math.max(amount, 1));
  return `${shown} ${name}${shown === "1" ? "" : "s"}`;
}

/** Seconds as minutes:seconds, or the largest unit of longer times: short, for an axis. */
export function clockSpan(seconds) {
  if (seconds >= 3_600) return duration(seconds);
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}

/** An ISO time in UTC, for tables. */
export function moment(text) {
  return text.replace("T", " ").replace(/Z$/, " UTC");
}

/** The time of day of an ISO time, in UTC. */
export function clock(text) {
  return `${text.slice(11, 19)} UTC`;
}

/** The same time in the local time zone; "" if that is UTC, or the date is out of range. */
export function localMoment(text) {
  const when = new Date(text);
  if (Number.isNaN(when.getTime()) || when.getTimezoneOffset() === 0) return "";
  return when.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "long" });
}

/** 41 bits, 1 bit. */
export function bits(n) {
  return `${n} bit${n === 1 ? "" : "s"}`;
}

/** Lists of the items with the same key, by key; `Map.groupBy` needs a browser of 2024. */
export function grouped(items, key) {
  const found = new Map();
  for (const one of items) found.set(key(one), [...(found.get(key(one)) ?? []), one]);
  return found;
}

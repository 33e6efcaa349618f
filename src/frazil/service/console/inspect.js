// Inspects an ID: bits in the colours of their fields, neighbours, and ranges of time.

import { ask, within } from "./api.js";
import { button, byId, copier, copyable, el, say, showProblem, table } from "./dom.js";
import { bits, count, localMoment, moment } from "./format.js";

const JAVASCRIPT_END = 1n << 53n;
const BIGINT_END = 1n << 63n;
const LENGTHS = { s: "second", min: "minute", h: "hour", d: "day" };

/** The part `Inspect`. `namespace` returns the selected namespace. */
export class Inspector {
  constructor(namespace) {
    this.namespace = namespace;
    this.text = "";
    this.scheme = "";
    this.asked = 0;
    const area = byId("inspect-text");
    byId("inspect-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.open(area.value);
    });
    area.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.open(area.value);
    });
    area.addEventListener("input", () => grow(area));
    area.addEventListener("paste", () => setTimeout(() => this.open(area.value)));
    byId("inspect-fresh").addEventListener("click", () => this.fresh());
  }

  begin() {
    if (this.text) this.find();
  }

  enter(text) {
    if (text === undefined || text === this.text) return;
    byId("inspect-text").value = text;
    this.text = text;
    this.scheme = "";
    this.find();
  }

  changed() {
    this.begin();
  }

  /** Inspect a text, and put it into the URL, for bookmarks and the back button. */
  open(text, scheme = "") {
    const area = byId("inspect-text");
    area.value = text.trim();
    grow(area);
    this.text = area.value;
    this.scheme = scheme;
    const hash = `#inspect=${encodeURIComponent(this.text)}`;
    if (location.hash !== hash) history.pushState(null, "", hash);
    this.find();
  }

  async fresh() {
    if (!this.namespace()) return;
    this.asked += 1; // ignore the replies to earlier requests
    try {
      const { id } = await ask(within(this.namespace(), "id"));
      this.open(id);
    } catch (problem) {
      this.show([], problem);
    }
  }

  async find() {
    const asked = ++this.asked;
    if (!this.namespace()) return;
    if (!this.text) {
      this.show([], { title: "No input", message: "paste an ID first" });
      return;
    }
    const body = this.scheme ? { text: this.text, scheme: this.scheme } : { text: this.text };
    try {
      const { found } = await ask(within(this.namespace(), "find"), body);
      if (asked === this.asked) this.show(found);
    } catch (problem) {
      if (problem.status === 400) problem.title = "No ID found";
      if (asked === this.asked) this.show([], problem);
    }
  }

  show(found, problem) {
    byId("inspect-empty").hidden = found.length > 0;
    byId("inspect-text").setAttribute("aria-invalid", String(Boolean(problem)));
    showProblem(byId("inspect-problem"), problem);
    byId("findings").replaceChildren(...found.map((one) => this.finding(one)));
    if (found.length) {
      const [{ id, scheme, said }] = found;
      const more = found.length > 1 ? `${found.length} IDs found. The first: ` : "";
      say(`${more}${id}, of scheme ${scheme}${said ? `, made ${said}` : ""}`);
    }
  }

  finding(one) {
    return el("article", { class: "card finding", "aria-label": `ID ${one.text}` },
      this.head(one),
      one.note && el("p", { class: "quiet", text: `Note: ${one.note}.` }),
      one.doubt && el("p", { class: "doubt", text: `Possibly not ${one.scheme}: ${one.doubt}.` }),
      drawing(one),
      fields(one),
      el("div", { class: "columns" },
        one.neighbours.length > 0 && this.neighbours(one), texts(one)),
      one.stretches.length > 0 && stretches(one));
  }

  head(one) {
    const width = one.spans.reduce((sum, { digits }) => sum + digits.length, 0);
    const others = one.others.map((scheme, i) => [
      i === 0 ? "" : i === one.others.length - 1 ? " or " : ", ",
      button(scheme, () => this.open(one.text, scheme), { class: "link" }),
    ]);
    return el("header", {},
      el("div", { class: "row" }, el("h2", { class: "id", text: one.text }),
        copier(one.text, "the ID")),
      el("p", {},
        el("strong", { text: one.scheme }),
        `, ${one.written}, ${bits(width)}${one.shuffled ? ", shown unshuffled" : ""}`,
        one.moment && el("span", { class: "when", text: `${moment(one.moment)}, ${one.said}` }),
      ),
      one.guessed &&
        el("p", { class: "quiet", text: `The scheme is a guess: ${one.reasons.join(", ")}.` }),
      others.length > 0 &&
        el("p", { class: "quiet" }, "Other possible schemes: ", others, "."));
  }

  neighbours(one) {
    const row = (text, words, mine) =>
      el("li", { class: mine && "mine" },
        el("span", { class: "quiet", text: words }),
        mine ? el("code", { text })
          : button(text, () => this.open(text, this.scheme || one.scheme), { class: "link id" }));
    const beside = ({ step, id }) => row(id, `${Math.abs(step)} ${step < 0 ? "before" : "after"}`);
    const [before, after] = [-1, 1].map((side) =>
      one.neighbours.filter(({ step }) => step * side > 0).map(beside));
    const rows = [...before, row(one.id, "this ID", true), ...after];
    const node = one.node === null ? "" : ` of node ${count(one.node)}`;
    return el("section", {},
      el("h3", { text: `Neighbouring IDs${node}` }),
      el("ol", { class: "neighbours" }, rows));
  }
}

/** The bits, in rows of whole bytes. */
function drawing(one) {
  const cells = [];
  const width = one.spans.reduce((sum, span) => sum + span.digits.length, 0);
  let top = width - 1;
  for (const span of one.spans) {
    [...span.digits].forEach((bit, i) => {
      const named = i === 0 && span.name.length <= span.digits.length * 1.5;
      cells.push(el("span", {
        class: `bit role-${span.role}${i === 0 ? " starts" : ""}`,
        "data-field": span.name,
        title: `bit ${top}: ${span.name}`,
      }, named && el("b", { text: span.name }), bit));
      top -= 1;
    });
  }
  const words = one.spans.map((s) => `${s.name} ${s.digits}`).join(", ");
  const label = `${bits(width)}: ${words}`;
  return el("div", { class: "bits", role: "img", "aria-label": label, "data-width": width }, cells);
}

function fields(one) {
  const { node, body, row } = table(`Fields of ${one.text}`, "fields",
    ["Field", "#Width", "#Value", "Meaning"]);
  body.append(...one.fields.map((field) => {
    const taken = one.spans.filter(({ name }) => name === field.name);
    const width = taken.reduce((sum, span) => sum + span.digits.length, 0);
    const chip = el("span", { class: `chip role-${field.role}`, "aria-hidden": "true" });
    const value = el("code", { class: "value", text: field.hex ?? count(field.value) });
    return row([[chip, field.name], bits(width), value, meaning(one, field)],
      { on: { mouseenter: () => light(field.name), mouseleave: () => light("") } });
  }));
  return node;
}

function meaning(one, field) {
  if (field.role === "time" && one.moment) {
    const local = localMoment(one.moment);
    return `${moment(one.moment)}${local && `; local ${local}`}`;
  }
  if (field.role === "fixed") {
    const strange = one.foreign.includes(field.name);
    return strange ? "not the constant of this scheme" : "constant of the layout";
  }
  return field.hex ? "bytes, in hex" : `from 0 to ${count(field.limit)}`;
}

function light(name) {
  for (const cell of document.querySelectorAll(".bit")) {
    cell.classList.toggle("dimmed", Boolean(name) && cell.dataset.field !== name);
  }
}

function texts(one) {
  const number = BigInt(one.number);
  const warnings = [];
  if (number >= JAVASCRIPT_END) {
    warnings.push("A JavaScript number cannot represent it exactly: use a string.");
  }
  if (number >= BIGINT_END && number < BIGINT_END << 1n) {
    warnings.push(`A signed BIGINT shows it as ${number - (BIGINT_END << 1n)}.`);
  }
  return el("section", {},
    el("h3", { text: "Written as" }),
    copyable(Object.entries(one.texts), "the ID in"),
    warnings.map((text) => el("p", { class: "quiet", text })));
}

function stretches(one) {
  const { node, show } = table(`Periods of ${one.text}`, "stretches",
    ["Period", "Start", "IDs", "Copy"]);
  show(one.stretches.map((stretch, i) => {
    const name = i === 0 ? `Tick of ${stretch.length}` : `Same ${LENGTHS[stretch.length.slice(1)]}`;
    const range = stretch.first && `BETWEEN ${stretch.first} AND ${stretch.last}`;
    const mark = el("i", { style: { left: `${stretch.at * 100}%` } });
    return [
      name,
      [el("div", { class: "line", "aria-hidden": "true" }, mark),
        el("span", { class: "quiet", text: moment(stretch.from) })],
      range
        ? [el("code", { text: stretch.first }), " to ", el("code", { text: stretch.last })]
        : el("span", { class: "quiet", text: "–" }),
      range && copier(range, `the SQL range: ${name.toLowerCase()}`),
    ];
  }));
  return el("section", {},
    el("h3", { text: "IDs of the same period" }),
    one.unsorted &&
      el("p", { class: "quiet", text: `IDs of a period do not form one range: ${one.unsorted}.` }),
    node);
}

function grow(area) {
  area.style.setProperty("height", "auto");
  area.style.setProperty("height", `${Math.min(area.scrollHeight + 2, 200)}px`);
}

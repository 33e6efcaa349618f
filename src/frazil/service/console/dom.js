// Creates DOM nodes. Text is always inserted as text, never as HTML.

/**
 * Create an element. `props`: `class`, `text`, `on` (an object of listeners), `style` (an object of
 * CSS properties), and attributes; those that are false, null or undefined are omitted.
 */
export function el(tag, props = {}, ...children) {
  return setProps(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function svg(tag, props = {}, ...children) {
  return setProps(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

function setProps(node, { on = {}, style = {}, text, ...attributes }, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    node.setAttribute(name, value === true ? "" : value);
  }
  for (const [name, value] of Object.entries(style)) node.style.setProperty(name, value);
  for (const [name, listener] of Object.entries(on)) node.addEventListener(name, listener);
  if (text !== undefined) node.textContent = text;
  const there = (child) => child !== null && child !== undefined && child !== false && child !== "";
  node.append(...children.flat(Infinity).filter(there));
  return node;
}

export const byId = (id) => document.getElementById(id);

/** Announce a text to screen readers, without moving the focus. */
export function say(text) {
  byId("said").textContent = text;
}

/** Show a problem in `place`; without a problem, empty it. */
export function showProblem(place, problem) {
  place.hidden = !problem;
  place.replaceChildren();
  if (problem) {
    place.append(el("strong", { text: problem.title }), el("pre", { text: problem.message }));
  }
}

/**
 * A table with these columns; `#` begins one of numbers. `row` makes a row of nodes or texts. In a
 * narrow window a row is a list of its cells, each after the name of its column.
 */
export function table(label, kind, columns) {
  const names = columns.map((name) => name.replace("#", ""));
  const numeric = columns.map((name) => (name.startsWith("#") ? "number" : null));
  const body = el("tbody", {});
  const head = names.map((text, i) => el("th", { scope: "col", text, class: numeric[i] }));
  const node = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    el("table", { class: kind }, el("thead", {}, el("tr", {}, head)), body));
  const row = (cells, props = {}) => el("tr", props, cells.map((cell, i) => i === 0
    ? el("th", { scope: "row", "data-name": names[0] }, cell)
    : el("td", { class: numeric[i], "data-name": names[i] }, cell)));
  return { node, body, row, show: (rows) => body.replaceChildren(...rows.map((one) => row(one))) };
}

/** A button that does `act`. */
export function button(text, act, props = {}) {
  return el("button", { type: "button", text, on: { click: act }, ...props });
}

/** A button that copies a text. `what` describes the text for screen readers. */
export function copier(text, what) {
  const node = button("Copy", async () => {
    const worked = await copied(typeof text === "function" ? text() : text);
    node.textContent = worked ? "Copied" : "Copy failed";
    say(worked ? `Copied ${what}` : `The browser did not allow copying ${what}`);
    setTimeout(() => (node.textContent = "Copy"), 1500);
  }, { class: "copy", "aria-label": `Copy ${what}` });
  return node;
}

/** Texts by name, each with a button that copies it; `what` begins their descriptions. */
export function copyable(texts, what) {
  return el("dl", { class: "texts" }, texts.map(([name, text]) => [
    el("dt", { text: name }),
    el("dd", {}, el("code", { text }), copier(text, `${what} ${name.toLowerCase()}`)),
  ]));
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text); // only over HTTPS and on localhost
    return true;
  } catch {
    const before = document.activeElement;
    const area = el("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const worked = document.execCommand("copy");
    area.remove();
    before?.focus(); // keyboard users continue from the button
    return worked;
  }
}

/**
 * A grid of cards, each with a title, a value and a line of words; a card is created once and then
 * updated, so that its chart stays.
 */
export class Cards {
  constructor(props = {}) {
    this.node = el("div", { class: "answers", ...props });
    this.clear();
  }

  clear() {
    this.cards = new Map();
    this.node.replaceChildren();
  }

  /** Create or update a card; `mark` is good, bad, wide or "". */
  show(title, value, words, mark = "") {
    let card = this.cards.get(title);
    if (!card) {
      const [big, small] = [el("div", { class: "value" }), el("p", { class: "quiet" })];
      card = { big, small, node: el("div", {}, el("h3", { text: title }), big, small) };
      this.cards.set(title, card);
      this.node.append(card.node);
    }
    card.node.className = `answer ${mark}`;
    card.big.textContent = value;
    card.small.textContent = words;
    return card;
  }
}

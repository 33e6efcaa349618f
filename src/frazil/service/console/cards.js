// A grid of cards, each with a title, a value and a line of words; a card is created once and then
// updated, so that its chart stays.

import { el } from "./dom.js";

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

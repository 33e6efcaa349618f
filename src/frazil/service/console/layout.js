// A layout in the planner: its pieces and its layout string. The service checks the layout and
// computes its capacity; this module only moves bits.

const LEAST = 1;
export const WIDEST = 128;
const PARTNERS = ["time", "run", "sequence", "node"];

/** The pieces from the most significant bit; the tick and epoch as strings. */
export class Cut {
  constructor({ pieces, tick, epoch }) {
    this.pieces = pieces.map((piece) => ({ ...piece }));
    this.tick = tick ?? "1ms";
    this.epoch = epoch ?? "2025-01-01T00:00:00Z";
  }

  get bits() {
    return this.pieces.reduce((sum, piece) => sum + piece.bits, 0);
  }

  has(role) {
    return this.pieces.some((piece) => piece.role === role);
  }

  /** The layout string. */
  toString() {
    const end = this.has("time") ? [`@${this.tick}`, "since", this.epoch] : [];
    return [...this.pieces.map((piece, i) => this.word(piece, i)), ...end].join(" ");
  }

  word(piece, i) {
    const same = this.pieces.filter(({ name }) => name === piece.name);
    const first = this.pieces.findIndex(({ name }) => name === piece.name) === i;
    const value = first && piece.value !== null ? `=${piece.value}` : "";
    const turned = piece.reversed ? "~" : "";
    if (same.length === 1) return `${piece.label}:${piece.bits}${turned}${value}`;
    // The pieces of one value keep their order when their widths change.
    const below = same.filter(({ low }) => low < piece.low);
    const low = below.reduce((sum, { bits }) => sum + bits, 0);
    return `${piece.label}[${low + piece.bits - 1}..${low}]${turned}${value}`;
  }

  /** Move up to `by` bits across the border on the right of piece `i`. */
  shift(i, by) {
    const [left, right] = [this.pieces[i], this.pieces[i + 1]];
    const moved = Math.max(LEAST - left.bits, Math.min(right.bits - LEAST, by));
    left.bits += moved;
    right.bits -= moved;
    return moved !== 0;
  }

  /** The piece that gives or takes bits when piece `i` is resized, if the sum is kept. */
  partner(i, kept) {
    if (!kept) return null;
    const others = this.pieces.map((piece, at) => at).filter((at) => at !== i);
    const role = PARTNERS.find((one) => others.some((at) => this.pieces[at].role === one));
    const fitting = others.filter((at) => this.pieces[at].role === role);
    return fitting.sort((a, b) => this.pieces[b].bits - this.pieces[a].bits)[0] ?? null;
  }

  /** The most bits that piece `i` can have. */
  most(i, kept) {
    const partner = this.partner(i, kept);
    const free = kept ? (this.pieces[partner]?.bits ?? 1) - 1 : WIDEST - this.bits;
    return this.pieces[i].bits + free;
  }

  /** Set the width of piece `i`. */
  resize(i, bits, kept) {
    const wanted = Math.max(LEAST, Math.min(this.most(i, kept), bits));
    const partner = this.partner(i, kept);
    if (kept && partner === null) return;
    if (kept) this.pieces[partner].bits += this.pieces[i].bits - wanted;
    this.pieces[i].bits = wanted;
  }

  /** Remove piece `i`; if the sum is kept, its bits go to its partner. */
  remove(i, kept) {
    const partner = this.partner(i, kept);
    if (partner !== null) this.pieces[partner].bits += this.pieces[i].bits;
    this.pieces.splice(i, 1);
  }

  /** Add a field with a role at its usual position; return the index. */
  add(role, kept) {
    const given = Math.max(0, ...this.pieces.map((piece) => piece.bits - LEAST)); // by one field
    const bits = Math.min(8, kept ? given : WIDEST - this.bits);
    if (bits < 1) return -1;
    const order = ["fixed", "time", "run", "node", "sequence"];
    let at = this.pieces.findIndex((piece) => order.indexOf(piece.role) > order.indexOf(role));
    if (at < 0) at = this.pieces.length;
    const fresh = { name: role, label: role, role, bits: 0, low: 0, reversed: false, value: null };
    this.pieces.splice(at, 0, fresh);
    this.resize(at, bits, kept);
    return at;
  }
}

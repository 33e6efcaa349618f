// All namespaces, the one in trouble first; the workers of one; HTTP replies and tokens.

import { chartIn, drawHistory, line } from "./chart.js";
import { Cards, button, byId, el, table } from "./dom.js";
import { clock, count, duration, grouped, large, moment } from "./format.js";

const LEVELS = { red: "✕ Trouble", unknown: "? Not known", amber: "! Warning", green: "✓ Good" };
const SOON_S = 30 * 86_400;

/** Everything that `v1/overview` says. `choose` gets the namespace that the user selects. */
export class Overview {
  constructor(choose) {
    this.choose = choose;
    this.list = el("ul", { class: "spaces" });
    this.worker = table("Workers", "stack", ["Worker", "Process", "Reported", "#Issued", "#Waits",
      "#No ID", "Claim left", "Lead", "Clock offset", "#Failed renewals", "Last error"]);
    this.reply = table("HTTP errors", "stack", ["Status", "#Replies", "Endpoints"]);
    this.token = table("Tokens", "stack",
      ["Token", "Namespaces", "Scopes", "Expires", "#IDs a minute", "#Left now"]);
    this.errors = line("fixed");
    this.sum = el("p", { class: "quiet" });
    byId("overview").append(this.list);
    this.title = el("h2", {});
    this.cards = new Cards();
    byId("workers").append(this.title, this.cards.node, this.worker.node);
    byId("replies").append(el("h2", { text: "HTTP errors" }), this.sum, this.errors.node,
      this.reply.node);
    byId("tokens").append(el("h2", { text: "Tokens" }), this.token.node);
    this.before = new Map();
  }

  show(told, selected) {
    const { as_of: now, started, part_s: part } = told;
    byId("as-of").replaceChildren(el("strong", { text: `As of ${clock(now)}` }),
      ` · frazil ${told.version} on ${told.host} · started ${moment(started).slice(0, 16)} UTC, ` +
      `${age(started, now)} ago`);
    const focused = document.activeElement?.dataset?.space;
    const spaces = told.overview.map((one) => this.space(one, now, part, selected));
    if (!this.list.matches(":active")) this.list.replaceChildren(...spaces); // else a click is lost
    if (focused) this.list.querySelector(`[data-space="${focused}"]`)?.focus();
    const mine = told.overview.find(({ namespace }) => namespace === selected);
    byId("workers").hidden = !mine;
    byId("replies").hidden = false;
    if (mine) this.showCounts(mine, part);
    this.showReplies(told);
    byId("tokens").hidden = told.tokens.length === 0;
    this.token.show(told.tokens.map(token));
  }

  space(one, now, part, selected) {
    const { namespace, level, alarms, workers, claims } = one;
    const errors = workers.filter(({ last_error_at: at }) => at);
    errors.sort((a, b) => b.last_error_at.localeCompare(a.last_error_at));
    const failed = sum(one.failures_parts);
    const picture = line("time");
    drawHistory(picture.draw, one.issued_parts, part, `IDs/s of ${namespace} since the start`);
    const chosen = namespace === selected ? "true" : null;
    return el("li", { class: `space ${level}`, "aria-current": chosen },
      el("h2", {},
        button(namespace, () => this.choose(namespace), { class: "link", "data-space": namespace }),
        el("span", { class: `badge ${level}`, text: LEVELS[level] })),
      el("div", { class: "why" }, alarms.map(({ why, since, page }) => el("p", {},
        el("strong", { text: why[0].toUpperCase() + why.slice(1) }),
        since ? ` · since ${clock(since)}, ${age(since, now)} · ` : " · ",
        el("a", { href: page, rel: "noreferrer", target: "_blank", text: "What to do" })))),
      errors.length > 0 && level !== "green" && el("p", { class: "quiet error" },
        `Last error ${clock(errors[0].last_error_at)}: ${errors[0].last_error}`),
      known(claims, now),
      el("div", { class: "spark" }, picture.node,
        el("span", { class: "quiet" }, `${large(this.rate(one, now))} IDs/s here`,
          failed > 0 && `, ${count(failed)} call${failed === 1 ? "" : "s"} got none`)));
  }

  /** What this service counted since its start, and what each worker knows. */
  showCounts({ namespace, workers, ...counted }, part) {
    if (this.title.textContent !== namespace) this.cards.clear();
    this.title.textContent = namespace;
    const [waited, failed] = [sum(counted.waits_parts), sum(counted.failures_parts)];
    const calls = `${count(waited)} call${waited === 1 ? "" : "s"} waited`;
    for (const [title, name, unit, role, words] of [
      ["Issued", "issued", "IDs/s", "time", `${count(sum(counted.issued_parts))} since the start`],
      ["Waits", "waits", "waits/s", "sequence", `${calls}; ${count(failed)} got no ID`],
    ]) {
      const card = this.cards.show(title, "", words);
      card.draw ??= chartIn(card.node, role, title, unit);
      const rate = drawHistory(card.draw, counted[`${name}_parts`], part);
      card.big.textContent = `${large(rate)} ${unit}`;
    }
    const left = workers.find(({ exhausted_in_s: s }) => s !== null)?.exhausted_in_s;
    if (left !== undefined) {
      this.cards.show("Layout lifetime", left > 0 ? `${duration(left)} left` : "expired",
        `${left > 0 ? "until " : ""}the time field is full`, left > 0 ? "" : "bad");
    }
    this.worker.show(workers.map(worker));
  }

  /** The rate between this answer and the one before; it stays while nothing is counted. */
  rate({ namespace, issued_parts: parts }, now) {
    const [issued, at] = [sum(parts), Date.parse(now)];
    const before = this.before.get(namespace);
    const passed = before ? (at - before.at) / 1000 : 0;
    const rate = passed > 0 ? Math.max(0, issued - before.issued) / passed : before?.rate ?? 0;
    this.before.set(namespace, { issued, at, rate });
    return rate;
  }

  showReplies({ replies, http_errors: errors, part_s: part }) {
    const all = sum(replies.map(({ count: n }) => n));
    const bad = grouped(replies.filter(({ status }) => status >= 400), ({ status }) => status);
    this.sum.textContent = `${count(all)} replies; errors since the start: ${count(sum(errors))}.`;
    drawHistory(this.errors.draw, errors, part, "HTTP errors/s");
    this.errors.node.toggleAttribute("hidden", !sum(errors));
    this.reply.node.hidden = bad.size === 0;
    this.reply.show([...bad].map(([status, found]) => [String(status),
      count(sum(found.map(({ count: n }) => n))),
      found.map(({ door, count: n }) => `${door} ${count(n)}`).join(", ")]));
  }
}

/** What the registry said when it was read last. */
function known(claims, now) {
  if (!claims) return el("p", { class: "quiet old", text: "The claims were not read yet." });
  const { members, nodes, hosts, rate_hz: rate, read, fresh } = claims;
  const used = nodes > 1 ? `${count(members)} of ${count(nodes)} node numbers` :
    `${count(members)} members`;
  const words = `${used}, ${count(hosts)} host${hosts === 1 ? "" : "s"}, ${large(rate)} IDs/s`;
  const old = `Not known now. As of ${clock(read)}, ${age(read, now)} ago: ${words}`;
  return el("p", { class: fresh ? "quiet" : "quiet old", text: fresh ? words : old });
}

function worker(one) {
  const seconds = (value) => (value === null ? "–" : duration(Math.max(0, value)));
  const offset = one.clock_offset_s;
  const ahead = offset === null || Math.abs(offset) < 0.05 ? "" : offset > 0 ? " ahead" : " behind";
  const error = one.last_error_at && el("span", { class: "quiet error", title: one.last_error,
    text: `${clock(one.last_error_at)}: ${one.last_error}` });
  return [String(one.worker), String(one.process),
    one.silent ? el("strong", { class: "bad", text: clock(one.reported) }) : clock(one.reported),
    count(one.issued), count(one.waits), count(one.failures),
    one.claim_left_s === 0 ? "none" : seconds(one.claim_left_s), seconds(one.lead_s),
    offset === null ? "not known" : `${duration(Math.abs(offset))}${ahead}`,
    count(one.renew_failures), error || "none"];
}

function token(one) {
  const left = one.expires_in_s;
  const when = left === null ? "never" : `${one.expires.slice(0, 10)}, ` +
    (left > 0 ? `in ${duration(left)}` : `${duration(-left)} ago`);
  const bad = left !== null && left < SOON_S && (left > 0 ? "warn" : "bad");
  return [one.name, one.token_namespaces.join(", "), one.scopes.join(", "),
    bad ? el("strong", { class: bad, text: when }) : when,
    one.ids_per_minute === null ? "no quota" : count(one.ids_per_minute),
    one.left === null ? "–" : count(one.left)];
}

function age(then, now) {
  return duration(Math.max(0, Date.parse(now) - Date.parse(then)) / 1000);
}

function sum(numbers) {
  return numbers.reduce((all, n) => all + n, 0);
}

// The frame around the parts: the part shown, the namespace, the token, and the connection.

import { ask, events, token } from "./api.js";
import { byId, el, say } from "./dom.js";
import { Inspector } from "./inspect.js";
import { Planner } from "./planner.js";
import { Watch } from "./watch.js";

const PARTS = { inspect: "Inspect", plan: "Plan", watch: "Watch" };
const AGAIN_MS = 1_000;

const select = byId("namespace");
const dialog = byId("token-dialog");
const current = () => select.value;
const parts = {
  inspect: new Inspector(current),
  plan: new Planner(byId("planner")),
  watch: new Watch(current, (namespace) => {
    select.value = namespace;
    select.dispatchEvent(new Event("change"));
  }),
};
let shown = "";

/** Load the namespaces, then start the parts. */
async function begin() {
  let served;
  try {
    served = await ask("v1/layouts");
  } catch {
    return; // the banner or the dialog shows the reason, and starts again
  }
  const before = select.value;
  select.replaceChildren(
    ...served.namespaces.map(({ namespace, scheme }) =>
      el("option", { value: namespace, text: `${namespace} (${scheme})` }),
    ),
  );
  if (served.namespaces.some(({ namespace }) => namespace === before)) select.value = before;
  select.disabled = served.namespaces.length === 0;
  if (select.disabled) say("This token allows no namespace");
  for (const part of Object.values(parts)) part.begin(served);
  route();
}

/** Show the part in the URL: #inspect, #inspect=TEXT, #plan, #watch. */
function route() {
  const [name, text] = location.hash.slice(1).split(/=(.*)/s);
  const next = name in PARTS ? name : "inspect";
  for (const key of Object.keys(PARTS)) byId(`part-${key}`).hidden = key !== next;
  for (const link of document.querySelectorAll("nav a")) {
    if (link.hash === `#${next}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${PARTS[next]} · frazil`;
  if (shown !== next) {
    if (shown) parts[shown].leave?.();
    shown = next;
  }
  parts[next].enter(text === undefined ? undefined : decoded(text));
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// --- the connection to the service

const banner = byId("lost");
let lostAt = 0; // 0: it answers

events.addEventListener("lost", async () => {
  const since = Date.now();
  const silence = el("span", { "aria-hidden": "true" });
  lostAt = since;
  document.body.classList.add("is-lost");
  banner.hidden = false;
  banner.className = "banner";
  banner.replaceChildren(el("strong", { text: "The service does not answer. " }),
    "The page shows old data and retries automatically.", silence);
  for (;;) {
    await new Promise((done) => setTimeout(done, AGAIN_MS));
    if (lostAt !== since) return; // it is back, and may be lost again since
    silence.textContent = ` No reply for ${Math.round((Date.now() - since) / 1000)} s.`;
    await ask("livez").catch(() => null);
  }
});

events.addEventListener("back", () => {
  lostAt = 0;
  document.body.classList.remove("is-lost");
  banner.className = "banner good";
  banner.replaceChildren(el("strong", { text: "The service answers again." }));
  setTimeout(() => (banner.hidden = !lostAt), 4_000);
  begin();
});

// --- the token

events.addEventListener("token", ({ detail: problem }) => {
  byId("token-open").hidden = false;
  if (dialog.open) return;
  askToken(token.get() ? `The service refused the token: ${problem.message}.`
    : "Tokens are defined in the configuration of the service.");
});

function askToken(why) {
  byId("token-why").textContent = why;
  byId("token-forget").hidden = !token.get();
  dialog.showModal();
  byId("token-text").focus();
}

byId("token-open").addEventListener("click", () => askToken(""));
byId("token-cancel").addEventListener("click", () => dialog.close());
byId("token-forget").addEventListener("click", () => {
  token.set("");
  dialog.close();
  location.reload();
});
byId("token-form").addEventListener("submit", () => {
  token.set(byId("token-text").value.trim());
  byId("token-text").value = "";
  begin();
});

select.addEventListener("change", () => {
  for (const part of Object.values(parts)) part.changed?.();
});
window.addEventListener("hashchange", route);
byId("token-open").hidden = !token.get();
route();
begin();

// Requests to the service: a reply is JSON, a problem (RFC 9457), or missing.

const KEY = "frazil-token";
const TIMEOUT_MS = 8_000;

/** An error reply; `message` is its detail, which ends with the next step. Status 0: no reply. */
class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? `status ${status}`);
    this.status = status;
    this.title = body.title ?? "The request failed";
  }
}

/**
 * Events of the whole page: `lost` and `back` for the service, `token` when a token is required
 * (its detail is the Problem).
 */
export const events = new EventTarget();

let lost = false;

let storage = null;
try {
  storage = sessionStorage; // may be blocked
} catch { /* then `here` keeps it */ }

/** The token: kept in this tab until it is closed; without storage, until a reload. */
export const token = {
  here: "",
  get() {
    return storage?.getItem(KEY) ?? this.here;
  },
  set(text) {
    this.here = text;
    if (text) storage?.setItem(KEY, text);
    else storage?.removeItem(KEY);
  },
};

/** Request a path relative to the page; with `body` as a POST. Throws Problem. */
export async function ask(path, body) {
  const headers = { accept: "application/json" };
  if (token.get()) headers.authorization = `Bearer ${token.get()}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let status;
  let found;
  try {
    const reply = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    status = reply.status;
    found = await reply.json(); // not JSON: the reply of a proxy, for example
  } catch {
    setLost(true);
    const title = "The service does not answer";
    throw new Problem(0, { title, detail: "the page retries automatically" });
  }
  setLost(false);
  if (status < 400) return found;
  const problem = new Problem(status, found);
  if (status === 401) events.dispatchEvent(new CustomEvent("token", { detail: problem }));
  throw problem;
}

/** A path of a namespace. */
export function within(namespace, rest) {
  return `v1/${encodeURIComponent(namespace)}/${rest}`;
}

function setLost(now) {
  if (lost === now) return;
  lost = now;
  events.dispatchEvent(new Event(now ? "lost" : "back"));
}

// The service, as the page speaks to it: every answer is JSON, a problem of RFC 9457, or missing.

const KEY = "frazil-token";
const PATIENCE_MS = 8_000;

/** An answer that is a problem; `message` is its detail, which ends with the next step. */
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? `status ${status}`);
    this.status = status;
    this.title = body.title ?? "The service refused";
  }
}

/** No answer: the service is gone, or something on the way is. */
export class Lost extends Error {
  constructor() {
    super("it does not answer; this page asks again by itself");
    this.title = "The service is not there";
  }
}

/**
 * What happens to the whole page: `lost` and `back` with the service, `token` when one is needed
 * (its detail is the Problem).
 */
export const events = new EventTarget();

let lost = false;

/** The token: in this tab alone, until it is closed; where it may keep nothing, until a reload. */
export const token = {
  here: "",
  get() {
    try {
      return sessionStorage.getItem(KEY) ?? this.here;
    } catch {
      return this.here;
    }
  },
  set(text) {
    this.here = text;
    try {
      if (text) sessionStorage.setItem(KEY, text);
      else sessionStorage.removeItem(KEY);
    } catch {
      // it is kept here
    }
  },
};

/** The answer of an address, relative to the page; `body` makes it a POST. Throws Problem, Lost. */
export async function ask(path, body, { method = body === undefined ? "GET" : "POST" } = {}) {
  const headers = { accept: "application/json" };
  if (token.get()) headers.authorization = `Bearer ${token.get()}`;
  if (body !== undefined) headers["content-type"] = "application/json";
  let status;
  let found;
  try {
    const reply = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    status = reply.status;
    found = await reply.json(); // not JSON: somebody else answered, such as a proxy without us
  } catch {
    turn(true);
    throw new Lost();
  }
  turn(false);
  if (status < 400) return found;
  const problem = new Problem(status, found);
  if (status === 401) events.dispatchEvent(new CustomEvent("token", { detail: problem }));
  throw problem;
}

/** The address of something of a namespace. */
export function within(namespace, rest) {
  return `v1/${encodeURIComponent(namespace)}/${rest}`;
}

function turn(now) {
  if (lost === now) return;
  lost = now;
  events.dispatchEvent(new Event(now ? "lost" : "back"));
}

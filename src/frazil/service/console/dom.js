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

/** A button that copies a text. `what` describes the text for screen readers. */
export function copier(text, what) {
  const button = el("button", { type: "button", class: "copy", "aria-label": `Copy ${what}` });
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const worked = await copied(typeof text === "function" ? text() : text);
    button.textContent = worked ? "Copied" : "Copy failed";
    say(worked ? `Copied ${what}` : `The browser did not allow copying ${what}`);
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  return button;
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

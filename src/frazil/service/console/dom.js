// Making the page out of nodes. A text is always a text here: nothing is ever read as HTML.

/**
 * An element. `props`: `class`, `text`, `on` (an object of listeners), `style` (an object of CSS
 * properties), and attributes; one that is false, null or undefined is left out.
 */
export function el(tag, props = {}, ...children) {
  return furnish(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function svg(tag, props = {}, ...children) {
  return furnish(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);
}

function furnish(node, { on = {}, style = {}, text, ...attributes }, children) {
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

/** Tell a screen reader, without moving anybody's focus. */
export function say(text) {
  byId("said").textContent = text;
}

/** Show a problem in a place made for one; without a problem, empty the place. */
export function showProblem(place, problem) {
  place.hidden = !problem;
  place.replaceChildren();
  if (problem) {
    place.append(el("strong", { text: problem.title }), el("pre", { text: problem.message }));
  }
}

/** A button that copies a text. `what` names it for those who do not see beside what it stands. */
export function copier(text, what) {
  const button = el("button", { type: "button", class: "copy", "aria-label": `Copy ${what}` });
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const worked = await copied(typeof text === "function" ? text() : text);
    button.textContent = worked ? "Copied" : "Select it";
    say(worked ? `Copied ${what}` : `The browser does not let the page copy ${what}`);
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  return button;
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text); // only over HTTPS and on this host
    return true;
  } catch {
    const before = document.activeElement;
    const area = el("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const worked = document.execCommand("copy");
    area.remove();
    before?.focus(); // whoever is at the keyboard goes on from the button
    return worked;
  }
}

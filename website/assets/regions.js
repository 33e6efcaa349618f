/* Names and keyboard access for what Material's script adds to a page.

Wide tables, code and pictures scroll, and a keyboard must reach them. The script wraps tables and
adds the buttons of code blocks after the page was loaded, so this looks again at each change. */

const REGIONS = [
  [".md-typeset__scrollwrap", "Table"],
  [".md-typeset pre > code", "Code"],
  [".drawing", "Drawing"],
  [".chart", "Chart"],
];

function label(element, name) {
  if (element.getAttribute("aria-label") !== name) element.setAttribute("aria-label", name);
}

function labelAll() {
  document.querySelectorAll(".md-search").forEach((search) => label(search, "Search"));
  document.querySelectorAll(".md-code__nav").forEach((buttons, index) => {
    label(buttons, `Actions of code ${index + 1}`);
  });
  for (const [selector, name] of REGIONS) {
    document.querySelectorAll(selector).forEach((region, index) => {
      if (region.tabIndex !== 0) region.tabIndex = 0;
      region.setAttribute("role", "region");
      label(region, `${name} ${index + 1}`);
    });
  }
}

new MutationObserver(labelAll).observe(document.body, { childList: true, subtree: true });
labelAll();

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

/* Whether something is hidden at the right edge, which then fades (site.css). */
function cue(region) {
  const hidden = region.scrollWidth - region.clientWidth - region.scrollLeft;
  region.toggleAttribute("data-more", hidden > 2);
}

function cueAll() {
  document.querySelectorAll(REGIONS.map(([selector]) => selector).join()).forEach(cue);
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
  cueAll();
}

new MutationObserver(labelAll).observe(document.body, { childList: true, subtree: true });
labelAll();
document.addEventListener("scroll", ({ target }) => target.tabIndex === 0 && cue(target), true);
addEventListener("resize", cueAll);
addEventListener("load", cueAll);

/* Wide tables, code and pictures scroll; this lets a keyboard reach them, and names them. */

for (const [selector, name] of [
  [".md-typeset__scrollwrap", "Table"],
  [".md-typeset pre > code", "Code"],
  [".drawing", "Drawing"],
  [".chart", "Chart"],
]) {
  document.querySelectorAll(selector).forEach((region, index) => {
    region.tabIndex = 0;
    region.setAttribute("role", "region");
    region.setAttribute("aria-label", `${name} ${index + 1}`);
  });
}

// Sets the light or dark theme before the first paint: the chosen one, or that of the system.
// Not a module, because modules run after the first paint.
{
  const KEY = "frazil-theme";
  const system = matchMedia("(prefers-color-scheme: dark)");

  let storage = null;
  try {
    storage = localStorage; // may be blocked
  } catch { /* then the choice lasts until a reload */ }
  let chosen = storage?.getItem(KEY) ?? null;

  const apply = () => {
    const dark = (chosen ?? (system.matches ? "dark" : "light")) === "dark";
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    const button = document.getElementById("theme");
    if (!button) return;
    button.textContent = dark ? "Light" : "Dark"; // what a click does
    button.title = `Switch to ${dark ? "light" : "dark"} mode`;
  };

  const turn = () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    chosen = (next === "dark") === system.matches ? null : next;
    if (chosen) storage?.setItem(KEY, chosen);
    else storage?.removeItem(KEY);
    apply();
  };

  apply();
  system.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme").addEventListener("click", turn);
  });
}

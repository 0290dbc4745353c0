// Loaded before the first paint, so that a chosen theme doesn't flash.
(() => {
  const chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset["theme"] = chosen;
})();

import type { PagePlace } from "./api.ts";
import type { PageApp } from "./app.ts";
import { h, icon, unseen } from "./dom.ts";
import { isTourWanted } from "./tour.ts";
import { weatherButton } from "./weather.ts";

const THEMES: readonly string[] = ["auto", "light", "dark"];
const themeLabels = new Map([
  ["auto", "Theme: as the system"],
  ["light", "Theme: light"],
  ["dark", "Theme: dark"],
]);

/**
 * Creates the bar at the top: the workspace, links, the weather, the theme, and the person of this
 * tab.
 */
export function createTop(header: HTMLElement, app: PageApp) {
  const title = h("span", { class: "team" });
  const links = h("nav", { class: "links", "aria-label": "Elsewhere" });
  const weather = weatherButton(() => app.toggleWeather());
  const sideButton = h(
    "button",
    {
      type: "button",
      class: "top-button side-button",
      "aria-label": "Conversations",
      "aria-controls": "sidebar",
      "aria-expanded": "false",
      on: { click: () => app.toggleSidebar() },
    },
    icon("menu"),
  );
  const tour = h(
    "button",
    {
      type: "button",
      class: "top-button",
      "aria-label": "What to try",
      title: "What to try",
      "aria-controls": "tour",
      on: { click: () => app.toggleTour() },
    },
    h("span", { "aria-hidden": "true" }, "?"),
  );
  const theme = h("button", { type: "button", class: "top-button", on: { click: nextTheme } }, icon("theme"));
  const who = h("select", { id: "who", on: { change: () => app.become(who.value) } });
  header.append(
    sideButton,
    title,
    links,
    h("span", { class: "grow" }),
    weather.button,
    tour,
    theme,
    h("label", { class: "who", for: "who" }, h("span", { class: "who-label" }, "I am"), who),
  );
  showTheme();

  function showTheme() {
    const name = chosenTheme();
    const label = themeLabels.get(name) ?? "";
    if (name === "auto") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = name;
    theme.setAttribute("aria-label", label);
    theme.title = label;
  }

  function nextTheme() {
    const next = THEMES[(THEMES.indexOf(chosenTheme()) + 1) % THEMES.length] ?? "auto";
    localStorage.setItem("theme", next);
    showTheme();
  }

  let drawn = "";

  return {
    focusWeather: () => weather.button.focus(),
    focusTour: () => tour.focus(),
    show({ isWeatherOpen }: PagePlace): void {
      const state = app.state();
      weather.show(state.weather, isWeatherOpen);
      tour.hidden = state.examples === null;
      tour.setAttribute("aria-expanded", String(isTourWanted()));
      sideButton.setAttribute("aria-expanded", String(document.body.classList.contains("sidebar-open")));
      const signature = JSON.stringify([state.team, state.people, state.links, state.me]);
      if (signature === drawn) return;
      drawn = signature;
      title.textContent = state.team;
      links.replaceChildren(
        ...state.links.map(({ label, url }) =>
          h(
            "a",
            { href: url, target: "_blank", rel: "noopener noreferrer" },
            label,
            unseen(" (opens in a new tab)"),
            icon("out"),
          ),
        ),
      );
      who.replaceChildren(
        ...state.people.map(({ id, realName, isGuest }) =>
          h("option", { value: id }, isGuest ? `${realName} (guest)` : realName),
        ),
      );
      who.value = state.me;
    },
  };
}

function chosenTheme(): string {
  const kept = localStorage.getItem("theme") ?? "auto";
  return THEMES.includes(kept) ? kept : "auto";
}

import { h } from "./dom.js";

/** Initials for a picture: of the first and the last word. */
export function initialsOf(name) {
  const words = name.split(/[\s-]+/).filter(Boolean);
  const [first, last] = [words[0] ?? "?", words.length > 1 ? words.at(-1) : ""];
  return `${[...first][0] ?? ""}${[...last][0] ?? ""}`.toUpperCase();
}

let order = [];

/** Whose pictures get which colour: in this order, so that neighbours differ. */
export function givePeopleColours(ids) {
  order = ids;
}

/** A coloured square with initials. It repeats the name beside it, so screen readers skip it. */
export function avatar(id, name, isBot, size = "") {
  const look = isBot ? "avatar-bot" : `avatar-${Math.max(0, order.indexOf(id)) % 6}`;
  return h(
    "span",
    { class: `avatar ${look} ${size}`, "aria-hidden": "true" },
    isBot ? "≈" : initialsOf(name),
  );
}

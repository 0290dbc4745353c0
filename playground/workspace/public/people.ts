import { h } from "./dom.ts";

/** Returns the initials of the first and the last word, for a picture. */
function initialsOf(name: string): string {
  const words = name.split(/[\s-]+/).filter(Boolean);
  const first = words[0] ?? "?";
  const last = words.length > 1 ? (words.at(-1) ?? "") : "";
  return `${Array.from(first)[0] ?? ""}${Array.from(last)[0] ?? ""}`.toUpperCase();
}

let order: readonly string[] = [];

/**
 * Gives the pictures of these people their colors. The order counts: neighbors get different ones.
 */
export function givePeopleColors(ids: readonly string[]): void {
  order = ids;
}

/**
 * Draws a colored square with initials. It repeats the name beside it, so screen readers skip it.
 */
export function avatar(id: string, name: string, isBot: boolean, size = ""): HTMLElement {
  const look = isBot ? "avatar-bot" : `avatar-${Math.max(0, order.indexOf(id)) % 6}`;
  return h(
    "span",
    { class: `avatar ${look} ${size}`, "aria-hidden": "true" },
    isBot ? "≈" : initialsOf(name),
  );
}

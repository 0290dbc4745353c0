/**
 * Makes an element. `props`: `on` holds listeners, `data` the dataset, `class` the classes; everything else is an attribute,
 * left out when it is null or false. Strings among the children become text, never markup.
 *
 * @param {string} tag
 * @param {Record<string, unknown> | null} [props]
 * @param {...(Node | string | null | undefined | false | (Node | string)[])} children
 * @returns {HTMLElement}
 */
export function h(tag, props, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (name === "data") {
      Object.assign(element.dataset, value);
    } else {
      element.setAttribute(name, value === true ? "" : `${/** @type {string | number} */ (value)}`);
    }
  }
  element.append(
    ...children.flat().filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** Text for screen readers only. */
export function unseen(text) {
  return h("span", { class: "unseen" }, text);
}

const signatures = new WeakMap();

/**
 * Makes the children of `parent` show `items`: what did not change stays the same node, and what changed is replaced where
 * it stands, with the focus kept.
 *
 * @template Item
 * @param {HTMLElement} parent
 * @param {readonly Item[]} items
 * @param {{ key: (item: Item) => string, signature: (item: Item) => unknown, render: (item: Item) => HTMLElement }} how
 */
export function reconcile(parent, items, { key, signature, render }) {
  const keys = new Set(items.map(key));
  const old = new Map();
  for (const node of Array.from(parent.children)) {
    if (keys.has(node.dataset.key) && !old.has(node.dataset.key)) old.set(node.dataset.key, node);
    else node.remove();
  }
  let cursor = parent.firstElementChild;
  for (const item of items) {
    const signed = JSON.stringify(signature(item));
    let node = old.get(key(item));
    if (node === undefined || signatures.get(node) !== signed) {
      const fresh = render(item);
      fresh.dataset.key = key(item);
      signatures.set(fresh, signed);
      if (node === cursor) cursor = fresh;
      if (node !== undefined) replaceKeepingFocus(node, fresh);
      node = fresh;
    }
    if (node === cursor && node.parentElement === parent) cursor = cursor.nextElementSibling;
    else parent.insertBefore(node, cursor);
  }
}

/** Puts `fresh` in the place of `node`; the focus goes to what has the same `data-focus`, or to `fresh`. */
export function replaceKeepingFocus(node, fresh) {
  const active = document.activeElement;
  const hadFocus = node.contains(active);
  if (node.tabIndex >= 0 && node.hasAttribute("tabindex")) fresh.tabIndex = node.tabIndex;
  node.replaceWith(fresh);
  if (!hadFocus) return;
  const name = active.dataset.focus;
  const same = name === undefined ? null : fresh.querySelector(`[data-focus="${CSS.escape(name)}"]`);
  (same ?? fresh).focus({ preventScroll: true });
}

/** Says something to screen readers. */
export function announce(text) {
  const region = document.getElementById("announcer");
  const line = h("p", null, text);
  region.append(line);
  while (region.children.length > 5) region.firstElementChild.remove();
}

/** Shows that something did not work, until it is dismissed or ten seconds are over. */
export function toast(text) {
  const toasts = document.getElementById("toasts");
  const box = h(
    "div",
    { class: "toast" },
    h("span", null, text),
    h(
      "button",
      { type: "button", class: "quiet", "aria-label": "Dismiss", on: { click: () => box.remove() } },
      "✕",
    ),
  );
  toasts.append(box);
  setTimeout(() => box.remove(), 10_000);
}

const svg = "http://www.w3.org/2000/svg";

const shapes = {
  menu: "M3 5h14M3 10h14M3 15h14",
  close: "M5 5l10 10M15 5L5 15",
  reply: "M4 5h12v8H9l-4 3v-3H4z",
  more: "M5 10h.01M10 10h.01M15 10h.01",
  send: "M4 10h11M11 5l5 5-5 5",
  weather: "M6 14h8a3 3 0 0 0 .4-6A4.5 4.5 0 0 0 6 8.2 3 3 0 0 0 6 14zM8 17l-1 1.500M12 17l-1 1.5",
  theme: "M16 12.500A6.5 6.5 0 0 1 7.5 4a6.5 6.5 0 1 0 8.5 8.500z",
  out: "M11 4h5v5M16 4l-7 7M13 11v5H4V7h5",
};

/** A picture beside or instead of a label that says the same. */
export function icon(name) {
  const picture = document.createElementNS(svg, "svg");
  picture.setAttribute("viewBox", "0 0 20 20");
  picture.setAttribute("class", `icon icon-${name}`);
  picture.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(svg, "path");
  path.setAttribute("d", shapes[name]);
  picture.append(path);
  return picture;
}

type Attribute = string | number | boolean | null | undefined;

/**
 * Written as a method, so that a listener for one kind of event is accepted as a listener for any.
 */
type Listener<Event> = { listen(event: Event): void }["listen"];

type Listeners = { [Name in keyof HTMLElementEventMap]?: Listener<HTMLElementEventMap[Name]> };

type Data = Record<string, string | number>;

type Props = { on?: Listeners; data?: Data; [attribute: string]: Attribute | Listeners | Data };

/** A child of an element. Null, undefined and false add nothing. */
export type Child = Node | string | null | undefined | false;

/**
 * Creates an element. In `props`, `on` holds listeners, `data` the dataset and `class` the classes.
 * Everything else is an attribute, which is left out if it is null or false. Strings among the
 * children become text, never markup.
 */
export function h<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  props?: Props | null,
  ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  const element = document.createElement(tag);
  const { on = {}, data = {}, ...attributes } = props ?? {};
  for (const [event, listener] of Object.entries(on)) {
    const heard: Listener<Event> = listener;
    element.addEventListener(event, heard);
  }
  Object.assign(element.dataset, data);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false || typeof value === "object") continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Returns an element of `index.html`. */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`The page has no #${id}.`);
  return element;
}

/** Returns the children that can have focus and style. The page makes no other kinds of node. */
export function childrenOf(parent: HTMLElement): HTMLElement[] {
  return [...parent.children].filter((child) => child instanceof HTMLElement);
}

/** Creates text for screen readers only. */
export function unseen(text: string): HTMLElement {
  return h("span", { class: "unseen" }, text);
}

/**
 * Returns the place that an arrow key, Home or End leads to from place `at` of `count`, or
 * undefined for other keys. It may lie outside the places.
 */
export function stepOf(key: string, at: number, count: number): number | undefined {
  switch (key) {
    case "ArrowUp":
      return at - 1;
    case "ArrowDown":
      return at + 1;
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return undefined;
  }
}

const signatures = new WeakMap<HTMLElement, string>();

/**
 * Tells {@link reconcile} how to identify an item, how to see that it changed, and how to draw it.
 */
export type Drawing<Item> = {
  key: (item: Item) => string;
  signature: (item: Item) => unknown;
  render: (item: Item) => HTMLElement;
};

/**
 * Makes the children of `parent` show `items`. The nodes of unchanged items stay. Changed items are
 * replaced where they are, and keep the focus.
 */
export function reconcile<Item>(
  parent: HTMLElement,
  items: readonly Item[],
  { key, signature, render }: Drawing<Item>,
): void {
  const keys = new Set(items.map(key));
  const old = new Map<string, HTMLElement>();
  for (const node of childrenOf(parent)) {
    const name = node.dataset["key"] ?? "";
    if (keys.has(name) && !old.has(name)) old.set(name, node);
    else node.remove();
  }
  let cursor = parent.firstElementChild;
  for (const item of items) {
    const signed = JSON.stringify(signature(item));
    let node = old.get(key(item));
    if (node === undefined || signatures.get(node) !== signed) {
      const fresh = render(item);
      fresh.dataset["key"] = key(item);
      signatures.set(fresh, signed);
      if (node === cursor) cursor = fresh;
      if (node !== undefined) replaceKeepingFocus(node, fresh);
      node = fresh;
    }
    if (node === cursor && node.parentElement === parent) cursor = node.nextElementSibling;
    else parent.insertBefore(node, cursor);
  }
}

/**
 * Replaces `node` with `fresh`. The focus moves to the element with the same `data-focus`, or to
 * `fresh`.
 */
function replaceKeepingFocus(node: HTMLElement, fresh: HTMLElement): void {
  const active = document.activeElement;
  const hadFocus = node.contains(active);
  if (node.tabIndex >= 0 && node.hasAttribute("tabindex")) fresh.tabIndex = node.tabIndex;
  node.replaceWith(fresh);
  if (!hadFocus) return;
  const name = active instanceof HTMLElement ? active.dataset["focus"] : undefined;
  const same =
    name === undefined ? null : fresh.querySelector<HTMLElement>(`[data-focus="${CSS.escape(name)}"]`);
  (same ?? fresh).focus({ preventScroll: true });
}

/** Has screen readers say a text. */
export function announce(text: string): void {
  const region = byId("announcer");
  const line = h("p", null, text);
  region.append(line);
  while (region.children.length > 5) region.firstElementChild?.remove();
}

/** Shows a failure until it is dismissed, or for ten seconds. */
export function toast(text: string): void {
  const toasts = byId("toasts");
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

const SVG = "http://www.w3.org/2000/svg";

const SHAPES = {
  menu: "M3 5h14M3 10h14M3 15h14",
  close: "M5 5l10 10M15 5L5 15",
  reply: "M4 5h12v8H9l-4 3v-3H4z",
  more: "M5 10h.01M10 10h.01M15 10h.01",
  clip:
    "M14 6l-6.500 6.500a1.500 1.500 0 0 0 2.100 2.100L16 8.200a3 3 0 0 0-4.200-4.200L5.200 " +
    "10.600a4.500 4.500 0 0 0 6.400 6.400L16 12.500",
  send: "M4 10h11M11 5l5 5-5 5",
  weather: "M6 14h8a3 3 0 0 0 .4-6A4.5 4.5 0 0 0 6 8.2 3 3 0 0 0 6 14zM8 17l-1 1.500M12 17l-1 1.5",
  theme: "M16 12.500A6.5 6.5 0 0 1 7.5 4a6.5 6.5 0 1 0 8.5 8.500z",
  out: "M11 4h5v5M16 4l-7 7M13 11v5H4V7h5",
};

/** Draws a picture. It stands beside a label that says the same, or in its place. */
export function icon(name: keyof typeof SHAPES): SVGElement {
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", "0 0 20 20");
  picture.setAttribute("class", `icon icon-${name}`);
  picture.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", SHAPES[name]);
  picture.append(path);
  return picture;
}

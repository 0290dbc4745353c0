import { h, stepOf } from "./dom.ts";

/** An entry of a menu. */
export type MenuEntry = { label: string; hint?: string; choose: () => void };

let close: ((givesFocusBack: boolean) => void) | null = null;

/**
 * Opens a menu at a button. Arrow keys move and Enter chooses. Escape or a click elsewhere closes
 * it. Then the focus returns to the button.
 */
export function openMenu(button: HTMLElement, entries: readonly MenuEntry[]): void {
  close?.(false);
  const items = entries.map(({ label, hint, choose }) =>
    h(
      "button",
      {
        type: "button",
        role: "menuitem",
        tabindex: "-1",
        on: {
          click: () => {
            close?.(true);
            choose();
          },
        },
      },
      h("span", null, label),
      hint === undefined ? null : h("span", { class: "small" }, hint),
    ),
  );
  const menu = h("div", { class: "menu", role: "menu", "aria-label": "Message actions" }, ...items);
  menu.addEventListener("keydown", (event) => {
    const at = items.findIndex((item) => item === document.activeElement);
    const next = stepOf(event.key, at, items.length);
    if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      event.stopPropagation();
      close?.(true);
    } else if (next !== undefined) {
      event.preventDefault();
      items[(next + items.length) % items.length]?.focus();
    }
  });
  document.body.append(menu);
  const box = button.getBoundingClientRect();
  const left = Math.max(8, Math.min(box.right - menu.offsetWidth, innerWidth - menu.offsetWidth - 8));
  const below = box.bottom + 4;
  menu.style.left = `${left}px`;
  const above = Math.max(8, box.top - menu.offsetHeight - 4);
  menu.style.top = `${below + menu.offsetHeight > innerHeight ? above : below}px`;
  button.setAttribute("aria-expanded", "true");
  items[0]?.focus();

  function outside(event: Event): void {
    if (!(event.target instanceof Node && menu.contains(event.target))) close?.(false);
  }
  document.addEventListener("pointerdown", outside, true);
  close = (givesFocusBack) => {
    close = null;
    document.removeEventListener("pointerdown", outside, true);
    // This comes first, because the button may be visible only while it is expanded or focused.
    if (givesFocusBack) button.focus();
    menu.remove();
    button.removeAttribute("aria-expanded");
  };
}

import type { Button } from "../../../world/slack/block-kit/objects.ts";
import { h } from "./dom.ts";
import { type ShownNames, renderPlainText, renderText } from "./text-view.ts";

/** Shows a confirmation dialog. Resolves to true if the person confirms. Escape denies. */
export function askToConfirm(confirm: NonNullable<Button["confirm"]>, names: ShownNames): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const yes = confirm.confirm === undefined ? "Yes" : renderPlainText(confirm.confirm);
  const no = confirm.deny === undefined ? "Cancel" : renderPlainText(confirm.deny);
  const dialog = h(
    "dialog",
    { class: "modal modal-confirm", "aria-labelledby": "confirm-title", "aria-describedby": "confirm-text" },
    h(
      "form",
      { method: "dialog" },
      h(
        "h2",
        { id: "confirm-title" },
        confirm.title === undefined ? "Are you sure?" : renderPlainText(confirm.title),
      ),
      h("div", { id: "confirm-text", class: "modal-body" }, ...renderText(confirm.text, names)),
      h(
        "div",
        { class: "modal-foot" },
        h("button", { class: "button", value: "no", autofocus: true }, no),
        h("button", { class: `button button-${confirm.style ?? "primary"}`, value: "yes" }, yes),
      ),
    ),
  );
  dialog.addEventListener("close", () => {
    dialog.remove();
    resolve(dialog.returnValue === "yes");
  });
  document.body.append(dialog);
  dialog.showModal();
  return promise;
}

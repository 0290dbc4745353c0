import type { PageView } from "../page-protocol.ts";
import type { PageApp } from "./app.ts";
import { type BlockContext, renderBlocks } from "./blocks.ts";
import { announce, byId, h, icon } from "./dom.ts";
import { fieldsOf, problemOf, renderInput, type Values, valuesOf } from "./modal-inputs.ts";
import { renderPlainText } from "./text-view.ts";

/** Creates the modal in front. `show` brings it in line with the state. */
export function createModal(app: PageApp) {
  let shown: PageView | null = null;
  let dialog: HTMLDialogElement | null = null;
  let isClosing = false;

  function show(): void {
    const { views } = app.state();
    const open = views.at(-1);
    if (open === undefined) return hide();
    const isSame = dialog !== null && shown?.id === open.id && shown.hash === open.hash;
    const drawn = isSame && dialog !== null ? dialog : render(open, views.length);
    showProblems(drawn, open);
    shown = open;
  }

  function hide(): void {
    if (dialog === null) return;
    isClosing = true;
    dialog.close();
    dialog.remove();
    dialog = null;
    shown = null;
    isClosing = false;
    if (document.activeElement === document.body) app.focusComposer(null);
  }

  /** Draws the modal. Returns its dialog, which may be the one of the modal before. */
  function render(open: PageView, depth: number): HTMLDialogElement {
    // If the app updates the view, inputs that stay the same keep the typed text.
    const typed = dialog !== null && shown?.id === open.id ? valuesOf(dialog) : {};
    const { view } = open;
    const form = h(
      "form",
      { novalidate: true },
      h(
        "div",
        { class: "modal-head" },
        h("span", { class: "avatar avatar-bot", "aria-hidden": "true" }, "≈"),
        h("h2", { id: "modal-title" }, renderPlainText(view.title)),
        h(
          "button",
          { type: "button", class: "quiet", "aria-label": "Close the form", on: { click: closeView } },
          icon("close"),
        ),
      ),
      h("div", { class: "modal-body" }, ...renderBlocks(view.blocks, contextOf(open, typed))),
      h("p", { class: "modal-failure", role: "alert", hidden: true }),
      h(
        "div",
        { class: "modal-foot" },
        h(
          "span",
          { class: "small modal-by" },
          depth > 1 ? `Step ${depth} · ${app.state().surface.appName}` : app.state().surface.appName,
        ),
        h(
          "button",
          { type: "button", class: "button", on: { click: closeView } },
          view.close === undefined ? "Close" : renderPlainText(view.close),
        ),
        view.submit === undefined
          ? null
          : h(
              "button",
              { type: "submit", class: "button button-primary", disabled: view.submit_disabled === true },
              renderPlainText(view.submit),
            ),
      ),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void submit();
    });
    const drawn = dialog ?? newDialog();
    dialog = drawn;
    drawn.replaceChildren(form);
    if (!drawn.open) drawn.showModal();
    const first = [
      "[data-first]",
      ".modal-body textarea, .modal-body input:not([type=hidden]), .modal-body select",
      'button[type="submit"]',
      "button",
    ].find((selector) => drawn.querySelector(selector) !== null);
    if (first !== undefined) drawn.querySelector<HTMLElement>(first)?.focus();
    return drawn;
  }

  function newDialog(): HTMLDialogElement {
    const made = h("dialog", { class: "modal", "aria-labelledby": "modal-title" });
    made.addEventListener("cancel", (event) => {
      event.preventDefault();
      closeView();
    });
    // The browser closes it by itself if Escape is pressed twice.
    made.addEventListener("close", () => {
      if (isClosing) return;
      closeView();
    });
    document.body.append(made);
    return made;
  }

  function contextOf(open: PageView, typed: Values): BlockContext {
    return {
      ...app.names,
      press: (act) => app.act({ kind: "click-in-view", viewId: open.id, values: drawnValues(), ...act }),
      renderInput: (block) =>
        renderInput(block, typed[block.block_id ?? ""]?.[block.element.action_id ?? ""], app.names),
    };
  }

  function drawnValues(): Values {
    return dialog === null ? {} : valuesOf(dialog);
  }

  async function submit(): Promise<void> {
    if (dialog === null || shown === null) return;
    const errors: Record<string, string> = {};
    for (const field of fieldsOf(dialog)) {
      const problem = problemOf(field);
      if (problem !== null) errors[field.dataset["block"] ?? ""] = problem;
    }
    showErrors(dialog, errors);
    if (Object.keys(errors).length > 0) return;
    allowSubmit(dialog, false);
    dialog.setAttribute("aria-busy", "true");
    await app.act({ kind: "submit", viewId: shown.id, values: valuesOf(dialog) }, { isQuiet: true });
    await app.refresh();
    settle();
  }

  /** Runs after the page shows the result of a submission. */
  function settle(): void {
    if (dialog === null || shown === null) {
      announce("The form was sent.");
      return;
    }
    dialog.removeAttribute("aria-busy");
    allowSubmit(dialog, shown.view.submit_disabled !== true);
    showErrors(dialog, shown.errors);
  }

  function showProblems(drawn: HTMLDialogElement, open: PageView): void {
    const failure = drawn.querySelector<HTMLElement>(".modal-failure");
    if (failure !== null) {
      failure.hidden = open.failure === null;
      failure.textContent = open.failure ?? "";
    }
    if (JSON.stringify(open.errors) !== JSON.stringify(shown?.id === open.id ? shown.errors : {}))
      showErrors(drawn, open.errors);
  }

  function closeView(): void {
    if (shown === null) return;
    void app.act({ kind: "close-view", viewId: shown.id }, { isQuiet: true }).then(() => app.refresh());
  }

  return { show };
}

function allowSubmit(dialog: HTMLDialogElement, isAllowed: boolean): void {
  const button = dialog.querySelector<HTMLButtonElement>('button[type="submit"]');
  if (button !== null) button.disabled = !isAllowed;
}

/** Shows the problem under each input, and moves the focus to the first. */
function showErrors(dialog: HTMLDialogElement, errors: Record<string, string>): void {
  for (const field of fieldsOf(dialog)) {
    const line = byId(`${field.id}-error`);
    const error = errors[field.dataset["block"] ?? ""] ?? "";
    line.textContent = error === "" ? "" : `⚠ ${error}`;
    line.hidden = error === "";
    if (error === "") field.removeAttribute("aria-invalid");
    else field.setAttribute("aria-invalid", "true");
  }
  dialog.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
}

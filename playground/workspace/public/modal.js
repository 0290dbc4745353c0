import { optionsOf, renderBlocks } from "./blocks.js";
import { announce, h, icon } from "./dom.js";
import { renderPlainText } from "./text-view.js";

/**
 * The modal in front. `app.views()` says which; `show` brings the page in line with it.
 */
export function createModal(app) {
  let shown = null;
  let dialog = null;
  let isClosing = false;

  function show() {
    const views = app.views();
    const open = views.at(-1);
    if (open === undefined) return hide();
    if (shown?.id !== open.id || shown.hash !== open.hash) render(open, views.length);
    showProblems(open);
    shown = open;
  }

  function hide() {
    if (dialog === null) return;
    isClosing = true;
    dialog.close();
    dialog.remove();
    dialog = null;
    shown = null;
    isClosing = false;
    if (document.activeElement === document.body) app.focusComposer(null);
  }

  function render(open, depth) {
    // What was typed stays when the app updates the view, where the input is the same.
    const typed = shown?.id === open.id ? valuesOf(dialog) : {};
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
          depth > 1 ? `Step ${depth} · ${app.appName()}` : app.appName(),
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
    if (dialog === null) {
      dialog = h("dialog", { class: "modal", "aria-labelledby": "modal-title" });
      dialog.addEventListener("cancel", (event) => {
        event.preventDefault();
        closeView();
      });
      // The browser closes it by itself when Escape is pressed twice.
      dialog.addEventListener("close", () => {
        if (isClosing) return;
        closeView();
      });
      document.body.append(dialog);
    }
    dialog.replaceChildren(form);
    if (!dialog.open) dialog.showModal();
    const first =
      dialog.querySelector("[data-first]") ??
      dialog.querySelector(".modal-body textarea, .modal-body input, .modal-body select");
    (first ?? dialog.querySelector('button[type="submit"]') ?? dialog.querySelector("button")).focus();
  }

  function contextOf(open, typed) {
    return {
      ...app.names,
      press: (act) => app.act({ kind: "click-in-view", viewId: open.id, ...act }),
      renderInput: (block) => renderInput(block, typed[block.block_id]?.[block.element.action_id]),
    };
  }

  async function submit() {
    const inputs = [...dialog.querySelectorAll("[data-input]")];
    const errors = Object.fromEntries(
      inputs.flatMap((input) => {
        const problem = problemOf(input);
        return problem === null ? [] : [[input.dataset.block, problem]];
      }),
    );
    showErrors(errors);
    if (Object.keys(errors).length > 0) return;
    const button = dialog.querySelector('button[type="submit"]');
    button.disabled = true;
    dialog.setAttribute("aria-busy", "true");
    await app.act({ kind: "submit", viewId: shown.id, values: valuesOf(dialog) }, { isQuiet: true });
    await app.refresh();
    if (dialog === null) {
      announce("The form was sent.");
      return;
    }
    dialog.removeAttribute("aria-busy");
    const again = dialog.querySelector('button[type="submit"]');
    if (again !== null) again.disabled = shown.view.submit_disabled === true;
    if (shown !== null) showErrors(shown.errors);
  }

  function showProblems(open) {
    const failure = dialog.querySelector(".modal-failure");
    failure.hidden = open.failure === null;
    failure.textContent = open.failure ?? "";
    if (JSON.stringify(open.errors) !== JSON.stringify(shown?.id === open.id ? shown.errors : {}))
      showErrors(open.errors);
  }

  function showErrors(errors) {
    for (const input of dialog.querySelectorAll("[data-input]")) {
      const line = document.getElementById(`${input.id}-error`);
      const error = errors[input.dataset.block] ?? "";
      line.textContent = error === "" ? "" : `⚠ ${error}`;
      line.hidden = error === "";
      if (error === "") input.removeAttribute("aria-invalid");
      else input.setAttribute("aria-invalid", "true");
    }
    dialog.querySelector('[aria-invalid="true"]')?.focus();
  }

  function closeView() {
    if (shown === null) return;
    void app.act({ kind: "close-view", viewId: shown.id }, { isQuiet: true }).then(() => app.refresh());
  }

  return { show };
}

function renderInput(block, typed) {
  const { element } = block;
  const id = `input-${block.block_id}`;
  const hint =
    block.hint === undefined
      ? null
      : h("div", { class: "small hint", id: `${id}-hint` }, renderPlainText(block.hint));
  const attributes = {
    id,
    data: {
      input: element.type,
      block: block.block_id,
      action: element.action_id,
      label: block.label.text,
      min: element.min_length ?? 0,
      max: element.type === "plain_text_input" ? (element.max_length ?? 3000) : 0,
      ...(element.focus_on_load === true && { first: "yes" }),
      ...(block.optional !== true && { required: "yes" }),
    },
    "aria-required": block.optional === true ? null : "true",
    "aria-describedby": `${id}-error${hint === null ? "" : ` ${id}-hint`}`,
  };
  const control = controlOf(element, attributes, typed);
  return h(
    "div",
    { class: "block block-input" },
    h(
      "label",
      { for: id },
      renderPlainText(block.label),
      block.optional === true ? h("span", { class: "small" }, " (optional)") : null,
    ),
    control,
    element.type === "plain_text_input" ? counterOf(control) : null,
    h("div", { class: "field-error", id: `${id}-error`, role: "alert", hidden: true }),
    hint,
  );
}

function controlOf(element, attributes, typed) {
  if (element.type === "static_select") {
    const select = h("select", { ...attributes, class: "select" }, ...optionsOf(element));
    select.value = typed ?? element.initial_option?.value ?? "";
    return select;
  }
  const control = h(element.multiline === true ? "textarea" : "input", {
    ...attributes,
    ...(element.multiline === true ? { rows: "5" } : { type: "text" }),
    placeholder: element.placeholder?.text ?? null,
    autocomplete: "off",
  });
  control.value = typed ?? element.initial_value ?? "";
  return control;
}

/** Says how much room is left, once it gets tight. */
function counterOf(control) {
  const counter = h("div", { class: "small counter" });
  const max = Number(control.dataset.max);
  function count() {
    counter.textContent =
      control.value.length > max * 0.8 ? `${control.value.length} of ${max} characters` : "";
  }
  control.addEventListener("input", count);
  count();
  return counter;
}

/** What is wrong with an input, as Slack's client says before it sends anything. */
function problemOf(input) {
  const { required, min, max } = input.dataset;
  const { length } = input.value;
  if (length === 0) return required === "yes" ? "Please complete this required field." : null;
  if (input.dataset.input === "static_select") return null;
  if (length < Number(min)) return `Please write at least ${min} characters.`;
  if (length > Number(max)) return `Please write at most ${max} characters, not ${length}.`;
  return null;
}

/** What stands in the inputs, by block and action; a select with nothing chosen is left out. */
function valuesOf(dialog) {
  const values = {};
  for (const { dataset, value } of dialog.querySelectorAll("[data-input]")) {
    if (dataset.input === "static_select" && value === "") continue;
    values[dataset.block] = { ...values[dataset.block], [dataset.action]: value };
  }
  return values;
}

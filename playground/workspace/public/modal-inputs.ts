import type { InputBlock } from "../../../world/slack/block-kit/blocks.ts";
import type { Checkboxes } from "../../../world/slack/block-kit/objects.ts";
import { optionsOf } from "./blocks.ts";
import { h } from "./dom.ts";
import { type ShownNames, renderPlainText, renderText } from "./text-view.ts";

/** An element of a modal in which a person types or chooses. */
export type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

/** The values of the inputs, by block and action. */
export type Values = Record<string, Record<string, string>>;

/** Returns the inputs of a modal on the screen. */
export function fieldsOf(dialog: HTMLElement): Field[] {
  return [...dialog.querySelectorAll<Field>("[data-input]")];
}

/** Draws an input block with the text that was typed into it before. */
export function renderInput(block: InputBlock, typed: string | undefined, names: ShownNames): HTMLElement {
  const { element } = block;
  if (element.type === "checkboxes") return renderCheckboxes(block, element, typed, names);
  const id = `input-${block.block_id}`;
  const hint =
    block.hint === undefined
      ? null
      : h("div", { class: "small hint", id: `${id}-hint` }, renderPlainText(block.hint));
  const attributes = {
    id,
    data: {
      input: element.type,
      block: block.block_id ?? "",
      action: element.action_id ?? "",
      label: block.label.text,
      min: element.type === "plain_text_input" ? (element.min_length ?? 0) : 0,
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

/** Draws checkboxes. A hidden field holds the values of the checked ones, one per line. */
function renderCheckboxes(
  block: InputBlock,
  { action_id, options, initial_options = [] }: Checkboxes,
  typed: string | undefined,
  names: ShownNames,
): HTMLElement {
  const id = `input-${block.block_id}`;
  const ticked = typed?.split("\n") ?? initial_options.map(({ value }) => value);
  const boxes = options.map(({ value }) =>
    h("input", { type: "checkbox", checked: ticked.includes(value), value, id: `${id}-${value}` }),
  );
  const field = h("input", {
    type: "hidden",
    id,
    data: { input: "checkboxes", block: block.block_id ?? "", action: action_id ?? "" },
  });
  function note() {
    field.value = boxes
      .filter(({ checked }) => checked)
      .map(({ value }) => value)
      .join("\n");
  }
  for (const [index, box] of boxes.entries()) {
    box.checked = ticked.includes(options[index]?.value ?? "");
    box.addEventListener("change", note);
  }
  note();
  const hint =
    block.hint === undefined ? null : h("div", { class: "small hint" }, renderPlainText(block.hint));
  return h(
    "fieldset",
    { class: "block block-checkboxes" },
    h("legend", null, renderPlainText(block.label)),
    ...boxes.map((box, index) => {
      const { text, description } = options[index] ?? {};
      return h(
        "label",
        { class: "checkbox", for: box.id },
        box,
        h(
          "span",
          null,
          ...(text === undefined ? [] : renderText(text, names)),
          description === undefined
            ? null
            : h("span", { class: "small checkbox-description" }, renderPlainText(description)),
        ),
      );
    }),
    field,
    h("div", { class: "field-error", id: `${id}-error`, role: "alert", hidden: true }),
    hint,
  );
}

function controlOf(
  element: Exclude<InputBlock["element"], Checkboxes>,
  attributes: NonNullable<Parameters<typeof h>[1]>,
  typed: string | undefined,
): Field {
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

/** Draws a counter of the remaining characters, which shows once few are left. */
function counterOf(control: Field): HTMLElement {
  const counter = h("div", { class: "small counter" });
  const max = Number(control.dataset["max"]);
  function count() {
    counter.textContent =
      control.value.length > max * 0.8 ? `${control.value.length} of ${max} characters` : "";
  }
  control.addEventListener("input", count);
  count();
  return counter;
}

/**
 * Returns the problem with an input that Slack's client reports before it sends anything, or null.
 */
export function problemOf(input: Field): string | null {
  const { required, min, max } = input.dataset;
  const { length } = input.value;
  if (length === 0) return required === "yes" ? "Please complete this required field." : null;
  if (input.dataset["input"] !== "plain_text_input") return null;
  if (length < Number(min)) return `Please write at least ${min} characters.`;
  if (length > Number(max)) return `Please write at most ${max} characters, not ${length}.`;
  return null;
}

/**
 * Returns the values of the inputs, by block and action. Leaves out a select with nothing chosen.
 */
export function valuesOf(dialog: HTMLElement): Values {
  const values: Values = {};
  for (const { dataset, value } of fieldsOf(dialog)) {
    const { input, block = "", action = "" } = dataset;
    if (input === "static_select" && value === "") continue;
    values[block] = { ...values[block], [action]: value };
  }
  return values;
}

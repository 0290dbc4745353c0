import { h } from "./dom.js";
import { askToConfirm } from "./confirm.js";
import {
  opensNewTab,
  renderImage,
  renderPlainText,
  renderRichText,
  renderText,
  renderUnsupported,
  safeUrl,
} from "./text-view.js";

/**
 * What a block's controls do when used: `press` delivers the action and resolves when the app has taken it.
 *
 * @typedef {import("./text-view.js").Names & {
 *   press: (act: { blockId: string, actionId: string, option?: string }) => Promise<void>,
 *   renderInput?: (block: any) => HTMLElement }} BlockContext
 */

/** @param {any[]} blocks @param {BlockContext} context */
export function renderBlocks(blocks, context) {
  return blocks.map((block) => renderBlock(block, context));
}

function renderBlock(block, context) {
  switch (block.type) {
    case "section":
      return renderSection(block, context);
    case "header":
      return h(
        "div",
        { class: "block block-header", role: "heading", "aria-level": 4 },
        renderPlainText(block.text),
      );
    case "divider":
      return h("hr", { class: "block" });
    case "context":
      return h(
        "div",
        { class: "block block-context" },
        ...block.elements.map((each) => renderSmall(each, context)),
      );
    case "actions":
      return h(
        "div",
        { class: "block block-actions" },
        ...block.elements.map((each) => renderControl(each, block, context)),
      );
    case "image":
      return h(
        "figure",
        { class: "block block-image" },
        block.title === undefined ? null : h("figcaption", null, renderPlainText(block.title)),
        renderImage(block, false),
      );
    case "rich_text":
      return h("div", { class: "block block-rich" }, ...renderRichText(block, context));
    case "input":
      return context.renderInput === undefined ? renderUnsupported("input") : context.renderInput(block);
    default:
      return renderUnsupported(String(block.type));
  }
}

function renderSection(block, context) {
  const { text, fields, accessory } = block;
  return h(
    "div",
    { class: "block block-section" },
    h(
      "div",
      { class: "section-text" },
      text === undefined ? null : h("div", null, ...renderText(text, context)),
      fields === undefined
        ? null
        : h(
            "div",
            { class: "fields" },
            ...fields.map((field) => h("div", null, ...renderText(field, context))),
          ),
    ),
    accessory === undefined
      ? null
      : h(
          "div",
          { class: "accessory" },
          accessory.type === "image"
            ? renderImage(accessory, false)
            : renderControl(accessory, block, context),
        ),
  );
}

function renderSmall(element, context) {
  if (element.type === "image") return renderImage(element, true);
  return h("span", null, ...renderText(element, context));
}

function renderControl(element, block, context) {
  switch (element.type) {
    case "button":
      return renderButton(element, block, context);
    case "static_select":
      return renderSelect(element, block, context);
    default:
      return renderUnsupported(element.type);
  }
}

function renderButton(element, block, context) {
  const href = element.url === undefined ? null : safeUrl(element.url);
  const control = h(
    href === null ? "button" : "a",
    {
      class: `button ${element.style === undefined ? "" : `button-${element.style}`}`,
      "aria-label": element.accessibility_label ?? null,
      data: { focus: `${block.block_id} ${element.action_id}` },
      ...(href === null ? { type: "button" } : { href, target: "_blank", rel: "noopener noreferrer" }),
    },
    h("span", null, renderPlainText(element.text)),
    ...(href === null ? [] : opensNewTab()),
  );
  async function press() {
    control.setAttribute("aria-busy", "true");
    await context.press({ blockId: block.block_id, actionId: element.action_id });
    control.removeAttribute("aria-busy");
  }
  async function confirmAndPress() {
    if (!(await askToConfirm(element.confirm, context))) return;
    if (href !== null) window.open(href, "_blank", "noopener,noreferrer");
    await press();
  }
  control.addEventListener("click", (event) => {
    const isBusy = control.getAttribute("aria-busy") === "true";
    if (isBusy || element.confirm !== undefined) event.preventDefault();
    if (isBusy) return;
    void (element.confirm === undefined ? press() : confirmAndPress());
  });
  return control;
}

function renderSelect(element, block, context) {
  const initial = element.initial_option?.value ?? "";
  const select = h(
    "select",
    {
      class: "select",
      "aria-label": element.placeholder?.text ?? "Choose an option",
      data: { focus: `${block.block_id} ${element.action_id}` },
    },
    ...optionsOf(element),
  );
  select.value = initial;
  async function choose() {
    const option = select.value;
    if (option === "") return;
    if (element.confirm !== undefined && !(await askToConfirm(element.confirm, context))) {
      select.value = initial;
      return;
    }
    await context.press({ blockId: block.block_id, actionId: element.action_id, option });
  }
  select.addEventListener("change", () => void choose());
  return select;
}

/** The options of a select menu; the empty one stands for nothing chosen. */
export function optionsOf(element) {
  const placeholder = h("option", { value: "" }, element.placeholder?.text ?? "Choose an option");
  const options = element.options.map((option) =>
    h(
      "option",
      { value: option.value },
      option.description === undefined
        ? renderPlainText(option.text)
        : `${renderPlainText(option.text)} – ${option.description.text}`,
    ),
  );
  return [placeholder, ...options];
}

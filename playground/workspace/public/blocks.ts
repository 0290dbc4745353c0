import type { AnyBlock, InputBlock } from "../../../world/slack/block-kit/blocks.ts";
import type {
  Button,
  FeedbackButtons,
  Overflow,
  StaticSelect,
} from "../../../world/slack/block-kit/objects.ts";
import { askToConfirm } from "./confirm.ts";
import { h } from "./dom.ts";
import { openMenu } from "./menu.ts";
import {
  type ShownNames,
  opensNewTab,
  renderImage,
  renderLink,
  renderPlainText,
  renderRichText,
  renderText,
  renderUnsupported,
  safeUrl,
} from "./text-view.ts";

/** The control that was used, and the option that was chosen in it. */
export type BlockPress = { blockId: string; actionId: string; option?: string };

/**
 * Gives a block's controls their effect. `press` delivers the action and resolves when the app has
 * taken it.
 */
export type BlockContext = ShownNames & {
  press: (act: BlockPress) => Promise<unknown>;
  renderInput?: (block: InputBlock) => HTMLElement;
};

type Block<Type extends AnyBlock["type"]> = Extract<AnyBlock, { type: Type }>;
type Control = Block<"actions">["elements"][number];

/** Draws blocks in their order. */
export function renderBlocks(blocks: readonly AnyBlock[], context: BlockContext): HTMLElement[] {
  return blocks.map((block) => renderBlock(block, context));
}

function renderBlock(block: AnyBlock, context: BlockContext): HTMLElement {
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
    case "context_actions":
      return h(
        "div",
        { class: "block block-actions" },
        ...block.elements.flatMap((each) => renderFeedback(each, block, context)),
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
    case "task_card":
      return renderTask(block, context);
    case "plan":
      return h(
        "div",
        { class: "block block-plan" },
        h("div", { class: "plan-title" }, block.title),
        h(
          "ol",
          { class: "plan-tasks" },
          ...(block.tasks ?? []).map((task) => h("li", null, renderTask(task, context))),
        ),
      );
    case "input":
      return context.renderInput === undefined ? renderUnsupported(block) : context.renderInput(block);
    default:
      return renderUnsupported(block);
  }
}

function renderSection(block: Block<"section">, context: BlockContext): HTMLElement {
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

const TASK_STATUSES = {
  pending: "Not started",
  in_progress: "In progress",
  complete: "Done",
  error: "Failed",
} as const;

function renderTask(
  { title, status = "pending", details, output, sources = [] }: Block<"task_card">,
  context: BlockContext,
) {
  return h(
    "div",
    { class: `block block-task task-${status}` },
    h("span", {
      class: "task-mark",
      role: "img",
      "aria-label": TASK_STATUSES[status],
      title: TASK_STATUSES[status],
    }),
    h(
      "div",
      { class: "task-main" },
      h("div", null, title),
      ...[details, output].flatMap((part) => (part === undefined ? [] : renderRichText(part, context))),
      ...sources.map(({ url, text }) => renderLink(url, text)),
    ),
  );
}

function renderSmall(element: Block<"context">["elements"][number], context: BlockContext): HTMLElement {
  if (element.type === "image") return renderImage(element, true);
  return h("span", null, ...renderText(element, context));
}

function renderControl(element: Control, block: AnyBlock, context: BlockContext): HTMLElement {
  switch (element.type) {
    case "button":
      return renderButton(element, block, context);
    case "static_select":
      return renderSelect(element, block, context);
    case "overflow":
      return renderOverflow(element, block, context);
    default:
      return renderUnsupported(element);
  }
}

function renderButton(element: Button, block: AnyBlock, context: BlockContext): HTMLElement {
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
  async function press(): Promise<void> {
    control.setAttribute("aria-busy", "true");
    await context.press(namesOf(element, block));
    control.removeAttribute("aria-busy");
  }
  async function confirmAndPress() {
    if (element.confirm !== undefined && !(await askToConfirm(element.confirm, context))) return;
    if (href !== null) window.open(href, "_blank", "noopener,noreferrer");
    await press();
  }
  control.addEventListener("click", (event: Event) => {
    const isBusy = control.getAttribute("aria-busy") === "true";
    if (isBusy || element.confirm !== undefined) event.preventDefault();
    if (isBusy) return;
    void (element.confirm === undefined ? press() : confirmAndPress());
  });
  return control;
}

/** Draws two icons. Hovering, or a screen reader, tells what they mean. */
function renderFeedback(element: FeedbackButtons, block: AnyBlock, context: BlockContext): HTMLElement[] {
  const { positive_button, negative_button } = element;
  return [
    { option: "positive", icon: "👍", ...positive_button },
    { option: "negative", icon: "👎", ...negative_button },
  ].map(({ option, icon, text, accessibility_label }) => {
    const names = { blockId: block.block_id ?? "", actionId: element.action_id ?? "" };
    return h(
      "button",
      {
        type: "button",
        class: "button button-icon",
        title: renderPlainText(text),
        "aria-label": accessibility_label ?? renderPlainText(text),
        data: { focus: `${names.blockId} ${names.actionId} ${option}` },
        on: { click: () => void context.press({ ...names, option }) },
      },
      h("span", { "aria-hidden": "true" }, icon),
    );
  });
}

function renderSelect(element: StaticSelect, block: AnyBlock, context: BlockContext): HTMLElement {
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
    await context.press({ ...namesOf(element, block), option });
  }
  select.addEventListener("change", () => void choose());
  return select;
}

function renderOverflow(element: Overflow, block: AnyBlock, context: BlockContext): HTMLElement {
  const button = h(
    "button",
    {
      class: "button",
      type: "button",
      "aria-label": "More actions",
      "aria-haspopup": "menu",
      data: { focus: `${block.block_id} ${element.action_id}` },
    },
    h("span", { "aria-hidden": "true" }, "⋯"),
  );
  async function choose(option: string): Promise<void> {
    if (element.confirm !== undefined && !(await askToConfirm(element.confirm, context))) return;
    await context.press({ ...namesOf(element, block), option });
  }
  button.addEventListener("click", () =>
    openMenu(
      button,
      element.options.map(({ text, value }) => ({
        label: renderPlainText(text),
        choose: () => void choose(value),
      })),
    ),
  );
  return button;
}

/** Returns the names of a control and its block. Slack gives every block and control one. */
function namesOf(element: Control, block: AnyBlock): { blockId: string; actionId: string } {
  return { blockId: block.block_id ?? "", actionId: element.action_id ?? "" };
}

/** Returns the options of a select menu. The empty one means that nothing is chosen. */
export function optionsOf(element: StaticSelect): HTMLOptionElement[] {
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

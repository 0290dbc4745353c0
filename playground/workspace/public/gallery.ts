import type { AnyBlock, InputBlock, ModalView } from "../../../world/slack/block-kit/blocks.ts";
import { renderBlocks } from "./blocks.ts";
import { h } from "./dom.ts";
import { renderInput } from "./modal-inputs.ts";
import { avatar } from "./people.ts";
import { type ShownNames, renderMrkdwn, renderPlainText } from "./text-view.ts";

type Message = { text: string; blocks: AnyBlock[] };
type Shown = { name: string; content: Message | ModalView; faults: string[] };
type Gallery = { names: Record<string, string>; groups: { title: string; messages: Shown[] }[] };

const data: Gallery = JSON.parse(document.querySelector("#gallery")?.textContent ?? "");
const names: ShownNames = {
  me: () => "U0ANA",
  nameOf: (id) => data.names[id],
  goTo: () => {},
  canGoTo: () => false,
};

/** The number of blocks drawn so far. */
let drawn = 0;
const links = data.groups.map(({ title }) => h("a", { href: `#${idOf(title)}` }, title));
document.body.append(
  h(
    "main",
    null,
    h("h1", null, "Every message of Docs Agent"),
    h("p", { class: "small" }, "As people see it in Slack, light and dark, and as a notification shows it."),
    h("nav", { "aria-label": "Kinds of messages" }, ...links),
    ...data.groups.map(({ title, messages }) =>
      h(
        "section",
        { id: idOf(title), "aria-labelledby": `${idOf(title)}-title` },
        h("h2", { id: `${idOf(title)}-title` }, title),
        ...messages.map(renderShown),
      ),
    ),
  ),
);

function renderShown(shown: Shown): HTMLElement {
  return h(
    "article",
    { class: "shown", "aria-label": shown.name },
    h("h3", null, shown.name),
    ...shown.faults.map((fault) => h("p", { class: "fault" }, fault)),
    h("div", { class: "themes" }, ...["light", "dark"].map((theme) => renderIn(theme, shown))),
    "text" in shown.content
      ? h("p", { class: "notification" }, ...renderMrkdwn(shown.content.text, names))
      : null,
  );
}

function renderIn(theme: string, { content }: Shown): HTMLElement {
  return h(
    "div",
    { class: `theme theme-${theme}` },
    "text" in content ? renderMessage(content) : renderForm(content),
  );
}

function renderMessage({ blocks }: Message): HTMLElement {
  return h(
    "div",
    { class: "message-row" },
    avatar("docs-agent", "Docs Agent", true),
    h(
      "div",
      { class: "message-main" },
      h(
        "div",
        { class: "message-head" },
        h("span", { class: "author" }, "Docs Agent"),
        h("span", { class: "badge" }, "APP"),
      ),
      h("div", { class: "content" }, ...draw(blocks)),
    ),
  );
}

function renderForm({ title, blocks, close, submit }: ModalView): HTMLElement {
  const buttons = [close, submit].flatMap((label) => (label === undefined ? [] : [renderPlainText(label)]));
  return h(
    "div",
    { class: "content" },
    h("div", { class: "modal-head" }, h("strong", null, renderPlainText(title))),
    h("div", { class: "modal-body" }, ...draw(blocks)),
    h(
      "div",
      { class: "modal-foot" },
      ...buttons.map((label) => h("button", { type: "button", class: "button" }, label)),
    ),
  );
}

/** Gives each block an id of its own, because a form is on the page twice. */
function draw(blocks: readonly AnyBlock[]): HTMLElement[] {
  const named = blocks.map((block) => ({ ...block, block_id: `block-${(drawn += 1)}` }));
  return renderBlocks(named, {
    ...names,
    press: () => Promise.resolve(),
    renderInput: (block: InputBlock) => renderInput(block, undefined, names),
  });
}

function idOf(title: string): string {
  return title.replaceAll(" ", "-");
}

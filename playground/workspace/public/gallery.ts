import type { AnyBlock } from "../../../emulators/slack/block-kit/blocks.ts";
import { renderBlocks } from "./blocks.ts";
import { h } from "./dom.ts";
import { avatar } from "./people.ts";
import { type ShownNames, renderMrkdwn } from "./text-view.ts";

type Shown = { name: string; content: { text: string; blocks: AnyBlock[] }; faults: string[] };
type Gallery = { names: Record<string, string>; groups: { title: string; messages: Shown[] }[] };

const data: Gallery = JSON.parse(document.querySelector("#gallery")?.textContent ?? "");
const names: ShownNames = {
  me: () => "U0ANA",
  nameOf: (id) => data.names[id],
  goTo: () => {},
  canGoTo: () => false,
};

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
    h("p", { class: "notification" }, ...renderMrkdwn(shown.content.text, names)),
  );
}

function renderIn(theme: string, { content }: Shown): HTMLElement {
  return h(
    "div",
    { class: `theme theme-${theme}` },
    h(
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
        h(
          "div",
          { class: "content" },
          ...renderBlocks(content.blocks, { ...names, press: () => Promise.resolve() }),
        ),
      ),
    ),
  );
}

function idOf(title: string): string {
  return title.replaceAll(" ", "-");
}

import type { PageMessage } from "../page-protocol.ts";
import type { PageApp, Feed } from "./app.ts";
import { renderBlocks } from "./blocks.ts";
import { childrenOf, h, icon, reconcile, stepOf, unseen } from "./dom.ts";
import { emojiNamed } from "./emoji.ts";
import { avatar } from "./people.ts";
import { renderMrkdwn } from "./text-view.ts";
import { clockTime, dayName, fullTime, isSameDay } from "./time.ts";

/** Messages of one author within this time are shown under one name. */
const GROUP_SECONDS = 300;

/** A message, and its relation to the one before it. */
type Item = { message: PageMessage; isFirstOfDay: boolean; isContinued: boolean };

/**
 * Shows messages in a feed and keeps the nodes of unchanged ones. The feed is one tab stop, and
 * arrow keys move within it.
 */
export function showMessages(
  feed: HTMLElement,
  messages: readonly PageMessage[],
  place: Feed,
  app: PageApp,
): void {
  const items = messages.map((message, index) => itemOf(message, messages[index - 1], place));
  reconcile(feed, items, {
    key: ({ message }) => message.ts,
    signature: (item) => [item, app.names.me(), app.signature()],
    render: (item) => renderMessage(item, place, app),
  });
  // A feed must have at least one article.
  feed.setAttribute("role", items.length === 0 ? "group" : "feed");
  const stops = childrenOf(feed);
  if (!stops.some(({ tabIndex }) => tabIndex === 0)) stops.at(-1)?.setAttribute("tabindex", "0");
  keepAtEnd(feed);
}

/** Keeps the end of a feed in view through new messages and resizing, if it was in view before. */
function keepAtEnd(feed: HTMLElement): void {
  if (feed.dataset["away"] !== "yes") feed.scrollTop = feed.scrollHeight;
}

function itemOf(message: PageMessage, previous: PageMessage | undefined, place: Feed): Item {
  const isFirstOfDay = previous === undefined || !isSameDay(previous.ts, message.ts);
  const isContinued =
    !isFirstOfDay &&
    previous.user === message.user &&
    !previous.isEphemeral &&
    !message.isEphemeral &&
    previous.replies === null &&
    !previous.isTombstone &&
    Number(message.ts) - Number(previous.ts) < GROUP_SECONDS;
  // The replies of a thread are all visible, so it needs no count of them.
  const shown =
    place === "thread" ? { ...message, replies: null, isUnread: false } : { ...message, isUnread: false };
  return { message: shown, isFirstOfDay, isContinued };
}

function renderMessage({ message, isFirstOfDay, isContinued }: Item, place: Feed, app: PageApp): HTMLElement {
  const id = `${place}-${message.ts}`;
  const author = app.authorOf(message);
  const article = h(
    "article",
    {
      class:
        `message ${isContinued ? "message-continued" : ""} ` +
        `${message.isEphemeral ? "message-ephemeral" : ""}`,
      tabindex: "-1",
      "aria-labelledby": `${id}-author ${id}-time`,
      "aria-describedby": `${id}-content`,
      data: { ts: message.ts },
    },
    isFirstOfDay ? h("div", { class: "day" }, h("span", null, dayName(message.ts))) : null,
    h(
      "div",
      { class: "message-row" },
      isContinued
        ? h("span", { class: "avatar-space", "aria-hidden": "true" })
        : avatar(message.user, author, message.isBot),
      h(
        "div",
        { class: "message-main" },
        h(
          "div",
          { class: isContinued ? "unseen" : "message-head" },
          h("span", { class: "author", id: `${id}-author` }, author),
          message.isBot ? h("span", { class: "badge" }, "APP") : null,
          h(
            "time",
            {
              class: "time",
              id: `${id}-time`,
              datetime: new Date(Number(message.ts) * 1000).toISOString(),
              title: fullTime(message.ts),
            },
            clockTime(message.ts),
          ),
        ),
        message.isEphemeral ? h("div", { class: "only-you" }, "Only visible to you") : null,
        h("div", { class: "content", id: `${id}-content` }, ...contentOf(message, app), fileList(message)),
        message.isEdited ? h("span", { class: "edited" }, "(edited)") : null,
        message.isBroadcast && place === "main"
          ? h("div", { class: "small" }, "Also sent from a thread")
          : null,
        message.reactions.length === 0 ? null : reactions(message.reactions, app),
        message.replies === null ? null : threadLink(message.ts, message.replies, app),
        message.isEphemeral ? dismissButton(message, app) : null,
      ),
    ),
    message.isEphemeral || message.isTombstone ? null : toolbar(message, place, app),
  );
  return article;
}

function contentOf(message: PageMessage, app: PageApp): HTMLElement[] {
  if (message.isTombstone) return [h("em", null, message.text)];
  // `text` and the rich text of a typed message say the same, and only the rich text keeps the
  // marks.
  const isTyped = !message.isBot && !message.isEphemeral;
  if (message.blocks.length === 0 || isTyped)
    return [h("div", { class: "block" }, ...renderMrkdwn(message.text, app.names))];
  return renderBlocks(message.blocks, {
    ...app.names,
    press: (act) =>
      app.act({
        kind: "click",
        channel: app.channelId(),
        messageTs: message.ts,
        isEphemeral: message.isEphemeral,
        ...act,
      }),
  });
}

function fileList({ files }: PageMessage): HTMLElement | null {
  if (files.length === 0) return null;
  return h(
    "ul",
    { class: "files", "aria-label": "Files" },
    ...files.map(({ name, type }) => h("li", null, name, h("span", { class: "small" }, ` ${type}`))),
  );
}

/** Shows a reaction with its count. Hovering, or a screen reader, tells who reacted. */
function reactions(shown: PageMessage["reactions"], app: PageApp): HTMLElement {
  return h(
    "ul",
    { class: "reactions", "aria-label": "Reactions" },
    ...shown.map(({ name, users }) => {
      const who = `${users.map((user) => app.names.nameOf(user) ?? user).join(", ")} reacted with :${name}:`;
      return h(
        "li",
        { title: who },
        h("span", { "aria-hidden": "true" }, `${emojiNamed(name) ?? `:${name}:`} ${users.length}`),
        unseen(who),
      );
    }),
  );
}

function threadLink(ts: string, replies: NonNullable<PageMessage["replies"]>, app: PageApp): HTMLElement {
  const label = replies.count === 1 ? "1 reply" : `${replies.count} replies`;
  return h(
    "button",
    {
      type: "button",
      class: "thread-link",
      data: { focus: "thread" },
      on: { click: () => app.openThread(ts) },
    },
    ...replies.users.map((user) =>
      avatar(user, app.names.nameOf(user) ?? user, app.isBot(user), "avatar-small"),
    ),
    h("strong", null, label),
    replies.isUnread ? h("span", { class: "new" }, "new") : null,
    h("span", { class: "small" }, `last at ${clockTime(replies.lastTs)}`),
  );
}

function dismissButton(message: PageMessage, app: PageApp): HTMLElement {
  return h(
    "button",
    {
      type: "button",
      class: "link-button",
      data: { focus: "dismiss" },
      on: {
        click: () =>
          void app
            .act({ kind: "dismiss", messageTs: message.ts })
            .then(() => app.focusComposer(message.threadTs)),
      },
    },
    "Dismiss",
    unseen(" this message"),
  );
}

function toolbar(message: PageMessage, place: Feed, app: PageApp): HTMLElement {
  const more = h(
    "button",
    {
      type: "button",
      "aria-label": "More actions",
      title: "More actions",
      "aria-haspopup": "menu",
      data: { focus: "more" },
      on: { click: () => app.openMessageMenu(more, message, place) },
    },
    icon("more"),
  );
  return h(
    "div",
    { class: "toolbar" },
    place === "main"
      ? h(
          "button",
          {
            type: "button",
            "aria-label": "Reply in thread",
            title: "Reply in thread",
            data: { focus: "reply" },
            on: { click: () => app.openThread(message.threadTs ?? message.ts) },
          },
          icon("reply"),
        )
      : null,
    more,
  );
}

/**
 * Handles the keys of a feed: arrows move, Enter opens the thread, and the menu key opens the
 * message's menu.
 */
export function listenToFeed(feed: HTMLElement, place: Feed, app: PageApp): void {
  feed.addEventListener("scroll", () => {
    feed.dataset["away"] = feed.scrollHeight - feed.scrollTop - feed.clientHeight > 80 ? "yes" : "no";
  });
  new ResizeObserver(() => keepAtEnd(feed)).observe(feed);
  feed.addEventListener("keydown", (event) => {
    const article = event.target;
    if (!(article instanceof HTMLElement) || !article.classList.contains("message")) return;
    const all = childrenOf(feed);
    const next = stepOf(event.key, all.indexOf(article), all.length);
    if (next !== undefined) {
      event.preventDefault();
      all[Math.max(0, Math.min(next, all.length - 1))]?.focus();
    } else if (event.key === "Enter" && place === "main" && article.querySelector(".toolbar") !== null) {
      event.preventDefault();
      app.openThread(article.dataset["ts"] ?? "");
    } else if (event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) {
      const more = article.querySelector<HTMLElement>('[data-focus="more"]');
      if (more === null) return;
      event.preventDefault();
      more.focus();
      more.click();
    }
  });
  feed.addEventListener("focusin", (event) => {
    const article = event.target instanceof Element ? event.target.closest(".message") : null;
    for (const each of childrenOf(feed)) each.tabIndex = each === article ? 0 : -1;
  });
}

/** Returns the text of a message for a screen reader. */
export function spokenText(feed: HTMLElement, ts: string): string {
  const content = feed.querySelector(`[data-ts="${CSS.escape(ts)}"] .content`);
  if (content === null) return "";
  return [...content.children]
    .map((child) => child.textContent)
    .join(". ")
    .slice(0, 500);
}

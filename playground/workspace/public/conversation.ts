import type { PageChannel, PageState } from "../page-protocol.ts";
import type { PageApp } from "./app.ts";
import type { Composer } from "./composer.ts";
import { h } from "./dom.ts";
import { listenToFeed, showMessages } from "./messages.ts";
import { createTour } from "./tour.ts";

/** Creates the middle of the page: a channel's header, its messages, and the composer. */
export function createConversation(parent: HTMLElement, composer: Composer, app: PageApp) {
  const heading = h("h1", { tabindex: "-1" });
  const about = h("p", { class: "about small" });
  const earlier = h("p", { class: "small earlier", hidden: true }, "Older messages are not shown here.");
  const feed = h("div", { class: "feed", role: "feed", "aria-label": "Messages" });
  const closed = h("div", { class: "closed", hidden: true });
  const tour = createTour(app);
  parent.append(
    h("div", { class: "conversation-head" }, heading, about),
    tour.element,
    earlier,
    feed,
    closed,
    composer.element,
  );
  listenToFeed(feed, "main", app);

  /** Replaces the composer with the reason if nobody can write here. */
  function showClosed(channel: PageChannel): void {
    const why = whyClosed(channel);
    composer.element.hidden = why !== null;
    closed.hidden = why === null;
    if (closed.dataset["why"] === (why ?? "")) return;
    closed.dataset["why"] = why ?? "";
    const join = h(
      "button",
      {
        type: "button",
        class: "button button-primary",
        on: { click: () => void app.act({ kind: "join", channel: channel.id }) },
      },
      "Join",
    );
    closed.replaceChildren(h("span", null, why ?? ""), channel.isMember || channel.isArchived ? "" : join);
  }

  return {
    feed,
    tour,
    goToEnd(): void {
      feed.dataset["away"] = "no";
      feed.scrollTop = feed.scrollHeight;
    },
    show(channel: PageChannel): void {
      const state = app.state();
      const label = labelOf(channel);
      heading.textContent = label;
      about.textContent = aboutOf(channel, state);
      feed.setAttribute("aria-label", `Messages in ${label}`);
      earlier.hidden = state.current?.hasEarlier !== true;
      showMessages(feed, state.current?.messages ?? [], "main", app);
      composer.setPlace({
        key: `${state.me} ${channel.id}`,
        label: `Message ${label}`,
        hint: isDirect(channel)
          ? "Enter sends. Shift and Enter makes a new line."
          : `Type / for commands, or @${state.bot.name} in a thread. Enter sends.`,
      });
      showClosed(channel);
      tour.show();
    },
  };
}

function isDirect({ kind }: PageChannel): boolean {
  return kind === "im" || kind === "mpim";
}

/** Returns the name of a conversation: `#docs`, or the names of its people. */
export function labelOf(channel: PageChannel): string {
  return isDirect(channel) ? channel.name : `#${channel.name}`;
}

function aboutOf(channel: PageChannel, { bot }: PageState): string {
  if (isDirect(channel))
    return channel.withBot ? "A message here is a request. The answer comes in its thread." : "";
  const where = channel.withBot ? `${bot.name} is here` : `${bot.name} is not here`;
  return `${channel.members - (channel.withBot ? 1 : 0)} people · ${where}`;
}

function whyClosed(channel: PageChannel): string | null {
  if (channel.isArchived) return "This channel is archived.";
  return channel.isMember ? null : `You are not in #${channel.name}.`;
}

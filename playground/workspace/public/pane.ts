import type { PageState } from "../page-protocol.ts";
import type { PagePlace } from "./api.ts";
import type { PageApp } from "./app.ts";
import { createComposer } from "./composer.ts";
import { h, icon } from "./dom.ts";
import { listenToFeed, showMessages } from "./messages.ts";
import { createWeather } from "./weather.ts";

/** Creates the pane at the side, which shows a thread or the weather. */
export function createPane(aside: HTMLElement, app: PageApp) {
  const heading = h("h2", { id: "pane-title", tabindex: "-1" });
  const where = h("span", { class: "small" });
  const feed = h("div", { class: "feed", role: "feed", "aria-label": "Thread" });
  const workStatus = h("div", { class: "work-status small", role: "status" });
  const composer = createComposer({
    id: "thread-composer",
    state: () => app.state(),
    send: (text, file) => app.compose(text, file, thread),
  });
  const weather = createWeather(app);
  let thread = "";
  listenToFeed(feed, "thread", app);
  aside.setAttribute("aria-labelledby", "pane-title");
  aside.append(
    h(
      "div",
      { class: "pane-head" },
      h("div", null, heading, where),
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": "Close this pane",
          on: { click: () => app.closePane() },
        },
        icon("close"),
      ),
    ),
    feed,
    workStatus,
    composer.element,
    weather.element,
  );

  return {
    feed,
    show(place: PagePlace): void {
      const { current, channels } = app.state();
      const content = place.thread === "" ? null : (current?.thread ?? null);
      const isThread = place.thread !== "";
      aside.hidden = !isThread && !place.isWeatherOpen;
      document.body.classList.toggle("pane-open", !aside.hidden);
      weather.element.hidden = !place.isWeatherOpen;
      feed.hidden = !isThread;
      const status = content?.workStatus ?? null;
      workStatus.hidden = status === null;
      const said = status === null ? "" : `${app.state().bot.name} ${status}`;
      if (workStatus.textContent !== said) workStatus.textContent = said;
      composer.element.hidden = !isThread || content === null || !canReply(app.state());
      if (place.isWeatherOpen) {
        heading.textContent = "Weather";
        where.textContent = "";
        weather.show();
        return;
      }
      if (!isThread) return;
      heading.textContent = "Thread";
      const channel = channels.find(({ id }) => id === current?.channel);
      where.textContent = `${channel?.kind === "im" ? "" : "#"}${channel?.name ?? ""}`;
      if (thread !== place.thread) {
        thread = place.thread;
        feed.replaceChildren();
        feed.dataset["away"] = "no";
      }
      composer.setPlace({
        key: `${app.names.me()} ${app.channelId()} ${thread}`,
        label: "Reply in thread",
        hint: channel?.kind === "im" ? "" : `Mention @${app.state().bot.name} to tell the agent more.`,
      });
      showMessages(feed, content?.messages ?? [], "thread", app);
    },
    focusThread(): void {
      if (composer.element.hidden) heading.focus();
      else composer.field.focus();
    },
    focusHeading: () => heading.focus(),
  };
}

function canReply({ channels, current }: PageState): boolean {
  const channel = channels.find(({ id }) => id === current?.channel);
  if (channel === undefined) return false;
  return channel.isMember && !channel.isArchived;
}

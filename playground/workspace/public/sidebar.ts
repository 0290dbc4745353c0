import type { PageChannel, PageState } from "../page-protocol.ts";
import type { PageApp } from "./app.ts";
import { type Drawing, h, reconcile, unseen } from "./dom.ts";
import { avatar } from "./people.ts";
import { opensNewTab } from "./text-view.ts";

/** Creates the list of conversations. `show` brings it in line with the state. */
export function createSidebar(nav: HTMLElement, app: PageApp) {
  const channels = h("ul");
  const direct = h("ul");
  const people = h("ul", { class: "people" });
  // The bar at the top has no room for the links on narrow screens.
  const links = h("ul", { class: "side-links" });
  nav.replaceChildren(
    h("h2", { id: "side-channels" }, "Channels"),
    channels,
    h("h2", { id: "side-direct" }, "Direct messages"),
    direct,
    h("h2", { id: "side-people" }, "People"),
    people,
    links,
  );
  channels.setAttribute("aria-labelledby", "side-channels");
  direct.setAttribute("aria-labelledby", "side-direct");
  people.setAttribute("aria-labelledby", "side-people");

  return function show(state: PageState, channelId: string): void {
    const isDirect = ({ kind }: PageChannel) => kind === "im" || kind === "mpim";
    const withApp = state.channels.find((channel) => channel.kind === "im" && channel.withBot);
    reconcile(
      channels,
      state.channels.filter((each) => !isDirect(each)).toSorted(byName),
      entries(channelId, app),
    );
    const bot: PageChannel = {
      id: "app",
      name: state.bot.name,
      kind: "im",
      withBot: true,
      isMember: true,
      isArchived: false,
      members: 2,
      unread: 0,
      forMe: 0,
    };
    const others = state.channels.filter((each) => isDirect(each) && each !== withApp);
    reconcile(direct, [withApp ?? bot, ...others], entries(channelId, app));
    reconcile(links, state.links, {
      key: ({ label, url }) => `${label} ${url}`,
      signature: (link) => link,
      render: ({ label, url }) =>
        h(
          "li",
          null,
          h(
            "a",
            { class: "entry", href: url, target: "_blank", rel: "noopener noreferrer" },
            label,
            ...opensNewTab(),
          ),
        ),
    });
    reconcile(people, state.people, {
      key: ({ id }) => id,
      signature: (person) => [person, state.me],
      render: ({ id, name, realName, isGuest }) =>
        h(
          "li",
          { class: "person" },
          avatar(id, realName, false, "avatar-small"),
          h("span", null, realName),
          id === state.me
            ? h("span", { class: "small" }, " you")
            : h("span", { class: "unseen" }, `, @${name}`),
          isGuest ? h("span", { class: "badge" }, unseen(", "), "guest") : null,
        ),
    });
  };
}

function byName(one: PageChannel, other: PageChannel): number {
  return one.name.localeCompare(other.name);
}

function entries(current: string, app: PageApp): Drawing<PageChannel> {
  return {
    key: ({ id }) => id,
    signature: (channel) => [channel, channel.id === current],
    render: (channel) => renderEntry(channel, channel.id === current, app),
  };
}

function renderEntry(channel: PageChannel, isCurrent: boolean, app: PageApp): HTMLElement {
  const { id, name, kind, unread, forMe, isArchived, isMember } = channel;
  const symbol = { public: "#", private: "🔒", im: channel.withBot ? "≈" : "@", mpim: "@" }[kind];
  const notes = [isArchived ? "archived" : "", isMember ? "" : "not joined"].filter(Boolean).join(", ");
  return h(
    "li",
    null,
    h(
      "button",
      {
        type: "button",
        class: `entry ${unread > 0 ? "entry-unread" : ""}`,
        "aria-current": isCurrent ? "page" : null,
        data: { focus: "entry", channel: id },
        on: { click: () => (kind === "im" && channel.withBot ? app.openAppMessages() : void app.goTo(id)) },
      },
      h("span", { class: "entry-symbol", "aria-hidden": "true" }, symbol),
      h("span", { class: "entry-name" }, name),
      notes === "" ? null : h("span", { class: "small" }, notes),
      unread > 0 && forMe === 0 ? h("span", { class: "dot" }, unseen(`${unread} unread`)) : null,
      forMe > 0 ? h("span", { class: "count" }, String(forMe), unseen(" unread for you")) : null,
    ),
  );
}

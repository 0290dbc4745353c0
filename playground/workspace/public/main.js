import { fetchState, listen, Refused, sendAct } from "./api.js";
import { createComposer } from "./composer.js";
import { announce, h, toast } from "./dom.js";
import { openMenu } from "./menu.js";
import { listenToFeed, showMessages } from "./messages.js";
import { createModal } from "./modal.js";
import { tellOfNews } from "./news.js";
import { createPane } from "./pane.js";
import { givePeopleColours } from "./people.js";
import { createSidebar } from "./sidebar.js";
import { createTop } from "./top.js";

/** @type {any} the last answer of `/api/state` */
let state = null;
/** Where this tab is; the address keeps it over a reload, and the tab keeps who it is. */
const place = { as: sessionStorage.getItem("as") ?? "", channel: "", thread: "", isWeatherOpen: false };
[place.channel = "", place.thread = ""] = location.hash.slice(1).split("/");
const drafts = new Map();

/** What the parts of the page share. */
const app = {
  names: {
    get me() {
      return state.me;
    },
    nameOf: (id) => {
      if (id === state.bot.id) return state.bot.name;
      return (
        state.people.find((each) => each.id === id)?.name ??
        state.channels.find((each) => each.id === id)?.name
      );
    },
    canGoTo: (id) => state.channels.some((each) => each.id === id),
    goTo: (id) => app.goTo(id),
  },
  /** Changes when messages must be drawn anew although they are the same. */
  signature: () => state.channels.map(({ id, name }) => [id, name]),
  state: () => state,
  views: () => state.views,
  weather: () => state.weather,
  appName: () => state.surface.appName,
  channelId: () => state.current?.channel ?? "",
  isBot: (id) => id === state.bot.id,
  authorOf: ({ user, isTombstone }) =>
    isTombstone ? "Deleted" : user === "USLACKBOT" ? "Workspace" : (app.names.nameOf(user) ?? user),
  refresh: () => refresh(),
  act,
  goTo(channel) {
    keepDraft();
    Object.assign(place, { channel, thread: "" });
    document.body.classList.remove("sidebar-open");
    void refresh().then(() => {
      composer.draft = drafts.get(channel) ?? "";
      goToEnd();
      composer.field.focus();
    });
  },
  async openAppMessages() {
    const { channel } = await act({ kind: "open-direct-message" });
    if (channel !== undefined) app.goTo(channel);
  },
  openThread(ts) {
    Object.assign(place, { thread: ts, isWeatherOpen: false });
    void refresh().then(() => pane.focusThread());
  },
  closePane() {
    const { thread } = place;
    const wasWeather = place.isWeatherOpen;
    Object.assign(place, { thread: "", isWeatherOpen: false });
    show();
    const root = feed.querySelector(`[data-ts="${CSS.escape(thread)}"]`);
    if (wasWeather) top.focusWeather();
    else (root ?? composer.field).focus();
  },
  toggleWeather() {
    Object.assign(place, { isWeatherOpen: !place.isWeatherOpen, thread: "" });
    show();
    if (place.isWeatherOpen) pane.focusHeading();
  },
  toggleSidebar() {
    const isOpen = document.body.classList.toggle("sidebar-open");
    if (isOpen) document.querySelector(".entry[aria-current], .entry")?.focus();
    show();
  },
  become(userId) {
    keepDraft();
    sessionStorage.setItem("as", userId);
    Object.assign(place, { as: userId, thread: "" });
    void refresh().then(() => announce(`You are ${app.names.nameOf(userId)} now.`));
  },
  focusComposer(threadTs) {
    if (threadTs !== null && place.thread === threadTs) pane.focusThread();
    else composer.field.focus();
  },
  openMessageMenu(button, message, where) {
    openMenu(button, [
      ...state.surface.messageShortcuts.map(({ name, callbackId, description }) => ({
        label: name,
        hint: description,
        choose: () => act({ kind: "shortcut", channel: app.channelId(), messageTs: message.ts, callbackId }),
      })),
      ...(where === "main"
        ? [{ label: "Reply in thread", choose: () => app.openThread(message.threadTs ?? message.ts) }]
        : []),
    ]);
  },
  async compose(text, threadTs) {
    const result = await act({
      kind: "compose",
      channel: app.channelId(),
      text,
      ...(threadTs !== undefined && { threadTs }),
    });
    return result.isDone;
  },
};

/** Does it as whoever this tab is, and tells what went wrong. */
async function act(what, { isQuiet = false } = {}) {
  try {
    const result = await sendAct(state.me, what);
    if (result.failure !== undefined && !isQuiet && what.kind !== "shortcut") {
      toast(
        `${state.surface.appName} did not take that: ${result.failure}. Slack shows a warning sign here.`,
      );
    }
    return { isDone: true, ...result };
  } catch (thrown) {
    toast(thrown instanceof Refused ? thrown.message : "The playground did not answer. Is it still running?");
    return { isDone: false };
  }
}

const conversation = document.getElementById("conversation");
const heading = h("h1", { tabindex: "-1" });
const about = h("p", { class: "about small" });
const earlier = h("p", { class: "small earlier", hidden: true }, "Older messages are not shown here.");
const feed = h("div", { class: "feed", role: "feed", "aria-label": "Messages" });
const closed = h("div", { class: "closed", hidden: true });
const composer = createComposer({
  id: "composer",
  state: () => state,
  send: (text) => app.compose(text),
});
conversation.append(
  h("div", { class: "conversation-head" }, heading, about),
  earlier,
  feed,
  closed,
  composer.element,
);
listenToFeed(feed, "main", app);

const top = createTop(document.getElementById("top"), app);
const showSidebar = createSidebar(document.getElementById("sidebar"), app);
const pane = createPane(document.getElementById("pane"), app);
const modal = createModal(app);

conversation.addEventListener("click", () => {
  if (document.body.classList.contains("sidebar-open")) app.toggleSidebar();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]") !== null)
    return;
  if (document.body.classList.contains("sidebar-open")) app.toggleSidebar();
  else if (place.thread !== "" || place.isWeatherOpen) app.closePane();
});

function goToEnd() {
  feed.dataset.away = "no";
  feed.scrollTop = feed.scrollHeight;
}

function keepDraft() {
  if (app.channelId() !== "") drafts.set(app.channelId(), composer.draft);
}

let running = null;
let isStale = false;

/** Fetches and shows the present state. Calls during a fetch are one more fetch after it. */
async function refresh() {
  if (running !== null) {
    isStale = true;
    return running;
  }
  running = load();
  try {
    await running;
  } finally {
    running = null;
  }
}

async function load() {
  do {
    isStale = false;
    const asked = { ...place };
    let next;
    try {
      next = await fetchState(asked, AbortSignal.timeout(15_000));
    } catch (thrown) {
      // A person or channel of an earlier playground.
      if (thrown instanceof Refused && asked.as !== "") {
        place.as = "";
        sessionStorage.removeItem("as");
        isStale = true;
      }
      continue;
    }
    if (state !== null && next.epoch !== state.epoch) return location.reload();
    if (asked.as !== place.as || asked.channel !== place.channel || asked.thread !== place.thread) {
      isStale = true;
      continue;
    }
    const before = state;
    state = next;
    if (state.current === null) {
      const first =
        state.channels.find(({ isMember, kind }) => isMember && kind === "public") ?? state.channels[0];
      if (first === undefined) return show();
      Object.assign(place, { channel: first.id, thread: "" });
      isStale = true;
      continue;
    }
    show();
    tellOfNews({ before, now: state, openThread: place.thread, feed, threadFeed: pane.feed, app });
    markRead();
  } while (isStale);
}

function show() {
  givePeopleColours(state.people.map(({ id }) => id));
  const channel = state.channels.find(({ id }) => id === state.current?.channel);
  if (channel === undefined) return;
  history.replaceState(null, "", `#${place.channel}${place.thread === "" ? "" : `/${place.thread}`}`);
  const isDirect = channel.kind === "im" || channel.kind === "mpim";
  const label = isDirect ? channel.name : `#${channel.name}`;
  const unread = state.channels.reduce((sum, each) => sum + each.forMe, 0);
  document.title = `${unread > 0 ? `(${unread}) ` : ""}${label} · ${state.team}`;
  heading.textContent = label;
  about.textContent = aboutOf(channel, isDirect);
  feed.setAttribute("aria-label", `Messages in ${label}`);
  earlier.hidden = !state.current.hasEarlier;
  showMessages(feed, state.current.messages, "main", app);
  composer.setPlace(`Message ${label}`);
  showClosed(channel);
  showSidebar(state, channel.id);
  pane.show(place);
  top.show(place);
  modal.show();
}

function aboutOf(channel, isDirect) {
  if (isDirect) return channel.withBot ? `Messages from ${state.surface.appName}` : "";
  const bot = channel.withBot ? `${state.bot.name} is here` : `${state.bot.name} is not here`;
  return `${channel.members - (channel.withBot ? 1 : 0)} people · ${bot}`;
}

/** Where nothing can be written, the page says why instead of taking it. */
function showClosed(channel) {
  const isAppDm = channel.kind === "im" && channel.withBot;
  const why =
    isAppDm && !state.surface.takesDirectMessages
      ? "Sending messages to this app has been turned off."
      : channel.isArchived
        ? "This channel is archived."
        : channel.isMember
          ? null
          : `You are not in #${channel.name}.`;
  composer.element.hidden = why !== null;
  closed.hidden = why === null;
  if (closed.dataset.why === (why ?? "")) return;
  closed.dataset.why = why ?? "";
  closed.replaceChildren(
    h("span", null, why ?? ""),
    channel.isMember || channel.isArchived
      ? ""
      : h(
          "button",
          {
            type: "button",
            class: "button button-primary",
            on: { click: () => act({ kind: "join", channel: channel.id }) },
          },
          "Join",
        ),
  );
}

/** What is on the screen counts as read. */
function markRead() {
  if (document.visibilityState !== "visible") return;
  const { current } = state;
  const newest = current.messages.findLast(({ isUnread, isEphemeral }) => isUnread && !isEphemeral);
  if (newest !== undefined) void act({ kind: "read", channel: current.channel, ts: newest.ts });
  const reply = current.thread?.messages.findLast(({ isUnread, threadTs }) => isUnread && threadTs !== null);
  if (reply !== undefined)
    void act({ kind: "read", channel: current.channel, threadTs: current.thread.ts, ts: reply.ts });
}
document.addEventListener("visibilitychange", () => {
  if (state?.current) markRead();
});

const banner = document.getElementById("connection");
listen(
  ({ epoch }) => {
    if (state !== null && epoch !== state.epoch) location.reload();
    else void refresh();
  },
  (isConnected) => {
    banner.hidden = isConnected;
    banner.textContent = isConnected ? "" : "The playground does not answer. Trying again…";
  },
);

await refresh();
goToEnd();
// The app can also stop by itself, which the workspace does not hear of.
setInterval(() => {
  if (place.isWeatherOpen && document.visibilityState === "visible") void refresh();
}, 2000);
document.documentElement.dataset.ready = "yes";

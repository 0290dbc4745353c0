import type { ActResult, PageAct, PageState, StateAnswer } from "../page-protocol.ts";
import { fetchState, listen, type PagePlace, Refused, sendAct } from "./api.ts";
import type { PageApp } from "./app.ts";
import { createComposer } from "./composer.ts";
import { createConversation, labelOf } from "./conversation.ts";
import { announce, byId, toast } from "./dom.ts";
import { openMenu } from "./menu.ts";
import { createModal } from "./modal.ts";
import { tellOfNews } from "./news.ts";
import { createPane } from "./pane.ts";
import { givePeopleColors } from "./people.ts";
import { createSidebar } from "./sidebar.ts";
import { exactTime } from "./time.ts";
import { createTop } from "./top.ts";

/** The last answer of `/api/state`. */
let state: StateAnswer | null = null;
/**
 * The place and the person of this tab. After a reload, the address still has the place, and the
 * tab still has the person.
 */
const [inChannel = "", inThread = ""] = location.hash.slice(1).split("/");
const place: PagePlace = {
  as: sessionStorage.getItem("as") ?? "",
  channel: inChannel,
  thread: inThread,
  isWeatherOpen: false,
};

function present(): PageState {
  if (state === null) throw new Error("The page has not been loaded yet.");
  return state;
}

const app: PageApp = {
  names: {
    me: () => present().me,
    nameOf: (id) => {
      const { bot, people, channels } = present();
      if (id === bot.id) return bot.name;
      return people.find((each) => each.id === id)?.name ?? channels.find((each) => each.id === id)?.name;
    },
    canGoTo: (id) => present().channels.some((each) => each.id === id),
    goTo: (id, threadTs) => void app.goTo(id, threadTs),
  },
  signature: () => present().channels.map(({ id, name }) => [id, name]),
  state: present,
  channelId: () => state?.current?.channel ?? "",
  isBot: (id) => id === present().bot.id,
  authorOf: ({ user, isTombstone }) =>
    isTombstone ? "Deleted" : user === "USLACKBOT" ? "Workspace" : (app.names.nameOf(user) ?? user),
  refresh: () => refresh(),
  act,
  goTo(channel, thread = "") {
    Object.assign(place, { channel, thread, isWeatherOpen: place.isWeatherOpen && thread === "" });
    document.body.classList.remove("sidebar-open");
    return refresh().then(() => {
      conversation.goToEnd();
      if (thread === "") composer.field.focus();
      else pane.focusThread();
    });
  },
  openAppMessages() {
    void act({ kind: "open-direct-message" }).then(({ channel }) => {
      if (channel !== undefined) void app.goTo(channel);
    });
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
    const root = feed.querySelector<HTMLElement>(`[data-ts="${CSS.escape(thread)}"]`);
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
    if (isOpen) document.querySelector<HTMLElement>(".entry[aria-current], .entry")?.focus();
    show();
  },
  become(userId) {
    sessionStorage.setItem("as", userId);
    Object.assign(place, { as: userId, thread: "" });
    void refresh().then(() => announce(`You are ${app.names.nameOf(userId)} now.`));
  },
  suggest(channel, text) {
    void app.goTo(channel).then(() => composer.write(text));
  },
  toggleTour() {
    if (conversation.tour.toggle()) conversation.tour.focus();
    else top.focusTour();
    show();
  },
  focusComposer(threadTs) {
    if (threadTs !== null && place.thread === threadTs) pane.focusThread();
    else composer.field.focus();
  },
  openMessageMenu(button, message, where) {
    openMenu(button, [
      ...present().surface.messageShortcuts.map(({ name, callbackId, description }) => ({
        label: name,
        hint: description,
        choose: () =>
          void act({ kind: "shortcut", channel: app.channelId(), messageTs: message.ts, callbackId }),
      })),
      ...(where === "main"
        ? [{ label: "Reply in thread", choose: () => app.openThread(message.threadTs ?? message.ts) }]
        : []),
    ]);
  },
  async compose(text, file, threadTs) {
    const attached = file === null ? undefined : await contentOf(file);
    const result = await act({
      kind: "compose",
      channel: app.channelId(),
      text,
      ...(threadTs !== undefined && { threadTs }),
      ...(attached !== undefined && { file: attached }),
    });
    if (threadTs === undefined) conversation.goToEnd();
    return result.isDone;
  },
};

async function contentOf(file: File) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const content = btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""));
  return { name: file.name, mimetype: file.type || "application/octet-stream", content };
}

/** Performs an act as the person of this tab, and shows what went wrong. */
async function act(
  what: PageAct,
  { isQuiet = false }: { isQuiet?: boolean } = {},
): Promise<ActResult & { isDone: boolean }> {
  try {
    const { me, surface } = present();
    const result = await sendAct(me, what);
    if (result.failure !== undefined && !isQuiet) {
      toast(`${surface.appName} didn't respond (${result.failure}).`);
    }
    if (what.kind === "compose" || what.kind === "submit") conversation.tour.fold();
    return { isDone: true, ...result };
  } catch (thrown) {
    toast(thrown instanceof Refused ? thrown.message : "The playground didn't answer. Is it still running?");
    return { isDone: false };
  }
}

const parent = byId("conversation");
const composer = createComposer({
  id: "composer",
  state: () => state,
  send: (text, file) => app.compose(text, file),
});
const conversation = createConversation(parent, composer, app);
const { feed } = conversation;

const top = createTop(byId("top"), app);
const showSidebar = createSidebar(byId("sidebar"), app);
const pane = createPane(byId("pane"), app);
const modal = createModal(app);

parent.addEventListener("click", () => {
  if (document.body.classList.contains("sidebar-open")) app.toggleSidebar();
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.defaultPrevented || document.querySelector("dialog[open]") !== null)
    return;
  if (document.body.classList.contains("sidebar-open")) app.toggleSidebar();
  else if (place.thread !== "" || place.isWeatherOpen) app.closePane();
});

let running: Promise<void> | null = null;
let isStale = false;

/**
 * Fetches and shows the present state. All calls during a fetch together cause one more fetch after
 * it.
 */
async function refresh(): Promise<void> {
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

async function load(): Promise<void> {
  do {
    isStale = false;
    const asked = { ...place };
    let next: StateAnswer;
    try {
      next = await fetchState(asked, AbortSignal.timeout(15_000));
    } catch (thrown) {
      // This person or channel belongs to an earlier playground.
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
    tellOfNews({ before, now: next, openThread: place.thread, feed, threadFeed: pane.feed, app });
    markRead();
  } while (isStale);
}

function show(): void {
  if (state === null) return;
  givePeopleColors(state.people.map(({ id }) => id));
  const channel = state.channels.find(({ id }) => id === app.channelId());
  if (channel === undefined) return;
  history.replaceState(null, "", `#${place.channel}${place.thread === "" ? "" : `/${place.thread}`}`);
  const unread = state.channels.reduce((sum, each) => sum + each.forMe, 0);
  document.title = `${unread > 0 ? `(${unread}) ` : ""}${labelOf(channel)} · ${state.team}`;
  conversation.show(channel);
  showSidebar(state, channel.id);
  pane.show(place);
  top.show(place);
  modal.show();
  showPending(state.pending);
}

/** Marks everything on the screen as read. */
function markRead(): void {
  const current = state?.current ?? null;
  if (document.visibilityState !== "visible" || current === null) return;
  const { thread } = current;
  const newest = current.messages.findLast(({ isUnread, isEphemeral }) => isUnread && !isEphemeral);
  if (newest !== undefined) void act({ kind: "read", channel: current.channel, ts: newest.ts });
  const reply = thread?.messages.findLast(({ isUnread, threadTs }) => isUnread && threadTs !== null);
  if (thread !== null && reply !== undefined)
    void act({ kind: "read", channel: current.channel, threadTs: thread.ts, ts: reply.ts });
}
document.addEventListener("visibilitychange", markRead);

/** Shows how many events Slack still has to send to the app. */
function showPending(pending: PageState["pending"]): void {
  const line = byId("pending");
  line.hidden = pending === null;
  const text =
    pending === null
      ? ""
      : `${present().surface.appName} didn't take ` +
        `${pending.count === 1 ? "an event" : `${pending.count} events`}. ` +
        `Slack tries again at ${exactTime(pending.nextAtMs)}.`;
  // If a status is set again, screen readers say it again.
  if (line.textContent !== text) line.textContent = text;
}

const banner = byId("connection");
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
conversation.goToEnd();
// The app can also stop by itself, and the workspace doesn't notice that.
setInterval(() => {
  if (place.isWeatherOpen && document.visibilityState === "visible") void refresh();
}, 2000);
document.documentElement.dataset["ready"] = "yes";

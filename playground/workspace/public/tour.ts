import type { PageMessage, PageState } from "../page-protocol.ts";
import type { PageApp } from "./app.ts";
import { h, icon } from "./dom.ts";

/** The channel in which the tour takes place. */
const CHANNEL = "docs";
const SETTING = "tour";

/** True until it is closed for the first time, and again when somebody asks for it. */
export function isTourWanted(): boolean {
  return localStorage.getItem(SETTING) !== "closed";
}

/**
 * Creates the card that explains the playground and says what to try. It shows only if the state
 * has examples.
 */
export function createTour(app: PageApp) {
  const heading = h("h2", { id: "tour-title", tabindex: "-1" }, "Try Docs Agent");
  const about = h("p", { class: "small" });
  const steps = h("ol", { class: "tour-steps" });
  const examples = h("ul");
  const understood = h(
    "details",
    { class: "tour-examples" },
    h("summary", null, "What the rule-based agent understands"),
    examples,
  );
  const body = h("details", { open: true }, h("summary", null, heading), about, steps, understood);
  const element = h(
    "section",
    { class: "tour", id: "tour", "aria-labelledby": "tour-title", hidden: true },
    h(
      "div",
      { class: "tour-head" },
      body,
      h(
        "button",
        {
          type: "button",
          class: "quiet",
          "aria-label": "Close the card",
          on: { click: () => app.toggleTour() },
        },
        icon("close"),
      ),
    ),
  );

  function command(request: string): string {
    return `${app.state().surface.commands[0]?.command ?? ""} ${request}`;
  }

  function suggest(request: string): void {
    const channel = channelOf(app.state());
    if (channel !== undefined) app.suggest(channel, command(request));
  }

  /** Opens a message's form from its menu, for a message that says what is wrong. */
  async function openForm(): Promise<void> {
    const channel = channelOf(app.state());
    if (channel === undefined) return;
    await app.goTo(channel);
    const { current, surface } = app.state();
    const shortcut = surface.messageShortcuts[0];
    const message = current?.messages.find(tellsOfALink) ?? current?.messages.find(({ isBot }) => !isBot);
    if (shortcut === undefined || message === undefined) return;
    await app.act({ kind: "shortcut", channel, messageTs: message.ts, callbackId: shortcut.callbackId });
  }

  function step(label: string, does: string, start: () => void): HTMLElement {
    return h(
      "li",
      null,
      h("button", { type: "button", class: "button", on: { click: start } }, label),
      h("span", { class: "small" }, does),
    );
  }

  let drawn = "";

  function draw({ examples: all, surface, weather }: PageState): void {
    const isRuleBased = weather?.agent !== null;
    about.textContent =
      `This page works like Slack, with the real ${surface.appName} behind it. ` +
      (isRuleBased
        ? "The agent is a small rule-based program, not an AI. Everything stays on this machine."
        : "The agent is yours. Everything but what it sends elsewhere stays on this machine.");
    const [first] = all ?? [];
    const asks = all?.find(({ does }) => does.startsWith("asks"));
    steps.replaceChildren(
      step(
        "Ask for a change",
        "puts a command in the message field: press Enter, and a pull request follows",
        () => suggest(first?.request ?? "fix the typos in the quickstart"),
      ),
      step(
        "Fix what a message says",
        "opens the form from a message's menu: press Send, and the pull request follows in that " +
          "message's thread",
        () => void openForm(),
      ),
      asks === undefined
        ? step("Break something", "makes Slack, the job service or the app fail: nothing gets lost", () =>
            app.toggleWeather(),
          )
        : step(
            "Let the agent ask",
            "names a page that doesn't exist: press Enter, then answer in the thread",
            () => suggest(asks.request),
          ),
    );
    understood.hidden = all === null || all.length === 0;
    examples.replaceChildren(
      ...(all ?? []).map(({ request, does }) =>
        h(
          "li",
          null,
          h(
            "button",
            { type: "button", class: "link-button", on: { click: () => suggest(request) } },
            request,
          ),
          h("span", { class: "small" }, ` ${does}`),
        ),
      ),
    );
  }

  return {
    element,
    /** Returns true if the card is shown now. */
    toggle(): boolean {
      localStorage.setItem(SETTING, isTourWanted() ? "closed" : "open");
      return isTourWanted();
    },
    focus: () => heading.focus(),
    /** Folds the card to make room. Its heading opens it again. */
    fold: () => body.removeAttribute("open"),
    show(): void {
      const state = app.state();
      element.hidden = state.examples === null || !isTourWanted();
      const signature = JSON.stringify([state.examples, state.surface, state.weather?.agent === null]);
      if (element.hidden || signature === drawn) return;
      drawn = signature;
      draw(state);
    },
  };
}

function channelOf({ channels }: PageState): string | undefined {
  const open = channels.filter(({ kind, isMember }) => kind === "public" && isMember);
  return (open.find(({ name }) => name === CHANNEL) ?? open[0])?.id;
}

function tellsOfALink({ isBot, text }: PageMessage): boolean {
  return !isBot && /\blink\b.*\bbroken\b/.test(text);
}

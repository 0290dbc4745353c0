import type { WeatherAction, WeatherState } from "../page-protocol.ts";
import type { PageApp } from "./app.ts";
import { sendWeather } from "./api.ts";
import { announce, h, icon, toast } from "./dom.ts";

const SLACK_CHOICES = [
  { value: "clear", label: "Answers normally", watch: "" },
  {
    value: "rate-limited",
    label: "429: too many requests",
    watch:
      "Slack refuses every call of the app. Ask for something: nothing appears. Set it back: the " +
      "messages arrive, each once and in order.",
  },
  {
    value: "unavailable",
    label: "503: unavailable",
    watch: "Slack is down for the app. Forms don't open. Commands are kept, and answered when it's back.",
  },
] as const;

const AGENT_CHOICES = [
  { value: "normal", label: "Works normally", watch: "" },
  {
    value: "slow",
    label: "Is slow",
    watch:
      "Each request takes half a minute: time to press Stop, to follow up in the thread, or to " +
      "kill the app. Set it back: the agent goes on at once.",
  },
  { value: "fails", label: "Fails", watch: "Ask for something: the thread says why, with Try again." },
  {
    value: "asks",
    label: "Asks first",
    watch: "Before it changes anything, it asks you in the thread, with buttons, and waits for your answer.",
  },
  {
    value: "chats",
    label: "Chats on the page",
    watch:
      "It writes “Certainly! Here is the updated page:” on each page. A check that every turn has " +
      "finds that, and the agent takes it out again.",
  },
] as const;

const AGENT_WORDS = {
  normal: null,
  slow: "Agent slow",
  fails: "Agent fails",
  asks: "Agent asks first",
  chats: "Agent chats",
} as const;

const CLEAR = "clear";

type Switch = {
  kind: "job-service-down" | "job-service-slow" | "app-running";
  label: string;
  isOn: (weather: WeatherState) => boolean;
  /** The `isOn` of the action, if the switch is on or off. */
  isOnFor: (isOn: boolean) => boolean;
  watch: string;
};

const SWITCHES: readonly Switch[] = [
  {
    kind: "job-service-down",
    label: "Job service is down",
    isOn: (weather) => weather.isJobServiceDown,
    isOnFor: (isOn) => isOn,
    watch: "Ask for something: the thread says the agent is unavailable, and the job starts when it's back.",
  },
  {
    kind: "job-service-slow",
    label: "Job service is slow",
    isOn: (weather) => weather.isJobServiceSlow,
    isOnFor: (isOn) => isOn,
    watch:
      "Commands are still answered at once, because the job is created in the background. Only " +
      "the thread takes longer.",
  },
  {
    kind: "app-running",
    label: "The app is killed",
    isOn: (weather) => !weather.isAppRunning,
    isOnFor: (isOn) => !isOn,
    watch:
      "The process ends at once (SIGKILL). Kill it while a job runs: new commands fail with " +
      "Slack's own notice. Switch it off again: the app starts, and every result arrives once.",
  },
];

/** Creates the panel that makes things go wrong. `show` brings it in line with the state. */
export function createWeather(app: PageApp) {
  const slack = SLACK_CHOICES.map((each) =>
    choice(each, "slack", (input) => act({ kind: "slack", slack: each.value }, input)),
  );
  const moods = AGENT_CHOICES.map((each) =>
    choice(each, "agent", (input) => act({ kind: "agent", mood: each.value }, input)),
  );
  const agent = h("fieldset", null, h("legend", null, "The agent"), ...moods.map(({ row }) => row));
  const toggles = SWITCHES.map((each) => {
    const input = h("input", {
      type: "checkbox",
      role: "switch",
      id: `weather-${each.kind}`,
      "aria-describedby": `weather-${each.kind}-watch`,
      on: { change: () => void act({ kind: each.kind, isOn: each.isOnFor(input.checked) }, input) },
    });
    const status = h("span", { class: "weather-status" });
    const row = h(
      "div",
      { class: "weather-switch" },
      h(
        "div",
        { class: "weather-line" },
        input,
        h("label", { for: `weather-${each.kind}` }, each.label),
        status,
      ),
      h("p", { class: "small", id: `weather-${each.kind}-watch` }, each.watch),
    );
    return { ...each, input, status, row };
  });
  const element = h(
    "div",
    { class: "weather" },
    h("p", null, "Break something: nothing gets lost or said twice."),
    agent,
    h("fieldset", null, h("legend", null, "Slack's answers to the app"), ...slack.map(({ row }) => row)),
    h("fieldset", null, h("legend", null, "Everything else"), ...toggles.map(({ row }) => row)),
  );

  async function act(action: WeatherAction, input: HTMLInputElement): Promise<void> {
    input.setAttribute("aria-busy", "true");
    input.disabled = true;
    try {
      await sendWeather(action);
    } catch (thrown) {
      toast(thrown instanceof Error ? thrown.message : String(thrown));
    }
    input.disabled = false;
    input.removeAttribute("aria-busy");
    input.focus();
    await app.refresh();
    announce(inWords(app.state().weather).join(", "));
  }

  return {
    element,
    show(): void {
      const { weather } = app.state();
      for (const { value, input } of slack) input.checked = weather?.slack === value;
      for (const { value, input } of moods) input.checked = weather?.agent === value;
      // Only the rule-based agent has moods.
      agent.hidden = weather !== null && weather.agent === null;
      for (const { input, isOn, status } of toggles) {
        if (weather === null) continue;
        input.checked = isOn(weather);
        status.textContent = input.checked ? "on" : "off";
        status.classList.toggle("is-on", input.checked);
      }
    },
  };
}

type Choice = { value: string; label: string; watch: string };

/** Draws one of several choices, and says what to look out for. */
function choice<Of extends Choice>(
  { value, label, watch }: Of,
  group: string,
  choose: (input: HTMLInputElement) => Promise<void>,
) {
  const id = `weather-${group}-${value}`;
  const input = h("input", {
    type: "radio",
    name: `${group}-weather`,
    value,
    id,
    on: { change: () => void choose(input) },
  });
  const about = watch === "" ? null : h("span", { class: "small" }, watch);
  return {
    value,
    input,
    row: h("div", { class: "weather-choice" }, input, h("label", { for: id }, label, about)),
  };
}

/** Says in a few words each what goes wrong now. */
function inWords(weather: WeatherState | null): string[] {
  if (weather === null) return ["Weather unknown"];
  const words = [
    { clear: null, "rate-limited": "Slack: 429", unavailable: "Slack: 503" }[weather.slack],
    weather.isJobServiceDown ? "Job service down" : null,
    weather.isJobServiceSlow ? "Job service slow" : null,
    weather.isAppRunning ? null : "App not running",
    weather.agent === null ? null : AGENT_WORDS[weather.agent],
  ].filter((word) => word !== null);
  return words.length === 0 ? [CLEAR] : words;
}

/** Creates the button that opens the panel and says which faults are on. */
export function weatherButton(onClick: () => void) {
  const label = h("span", { class: "weather-words" });
  const button = h(
    "button",
    { type: "button", class: "top-button", "aria-expanded": "false", on: { click: onClick } },
    icon("weather"),
    h("span", { class: "weather-label" }, "Weather: "),
    label,
  );
  return {
    button,
    show(weather: WeatherState | null, isOpen: boolean): void {
      const words = inWords(weather);
      label.textContent = words.join(" · ");
      button.classList.toggle("is-bad", words[0] !== CLEAR);
      button.setAttribute("aria-expanded", String(isOpen));
    },
  };
}

import { DocsAgentError } from "../../src/shared/errors.ts";
import type { SlackSide } from "../../world/slack/index.ts";
import type { AgentMood } from "../agent-mood.ts";
import type { SlackWeather, WeatherAction, WeatherState } from "./page-protocol.ts";

/** The state of the weather, and a way to change it. */
export interface WeatherControls {
  state(): Promise<WeatherState>;
  /** Resolves once it has taken effect. Rejects if it can't. */
  act(action: WeatherAction): Promise<void>;
}

/** The changes that only the composition root can make. Each resolves once it has taken effect. */
export type WeatherCallbacks = {
  setJobServiceDown(isDown: boolean): Promise<void> | void;
  setJobServiceSlow(isSlow: boolean): Promise<void> | void;
  /** Sends SIGKILL, so that no handler runs. */
  killApp(): Promise<void> | void;
  /** Resolves once the app can take requests. */
  startApp(): Promise<void> | void;
  appIsRunning(): Promise<boolean> | boolean;
  /** Left out if the agent has no moods. */
  setAgentMood?: (mood: AgentMood) => void;
};

/** A change of the weather did not take effect in time. */
export class WeatherStuck extends DocsAgentError {
  readonly code = "WEATHER_STUCK";
}

const RETRY_AFTER_S = 5;
const ACT_TIMEOUT_MS = 30_000;

/**
 * Creates the weather of a playground. Slack's part uses the stand-in's faults, and everything else
 * the callbacks.
 */
export function createWeatherControls(slack: SlackSide, callbacks: WeatherCallbacks): WeatherControls {
  let now: Omit<WeatherState, "isAppRunning"> = {
    slack: "clear",
    isJobServiceDown: false,
    isJobServiceSlow: false,
    agent: callbacks.setAgentMood === undefined ? null : "normal",
  };
  let takeBack: (() => void)[] = [];
  // One change at a time. If a kill and a start overlapped, nobody would know whether the app runs.
  let last: Promise<void> = Promise.resolve();

  function setSlack(weather: SlackWeather): void {
    for (const undo of takeBack) undo();
    takeBack = faultsOf(weather).map((rule) => slack.faults.add(rule));
    now = { ...now, slack: weather };
  }

  async function change(action: WeatherAction): Promise<void> {
    switch (action.kind) {
      case "slack":
        return setSlack(action.slack);
      case "job-service-down":
        await callbacks.setJobServiceDown(action.isOn);
        now = { ...now, isJobServiceDown: action.isOn };
        return;
      case "job-service-slow":
        await callbacks.setJobServiceSlow(action.isOn);
        now = { ...now, isJobServiceSlow: action.isOn };
        return;
      case "app-running":
        if ((await callbacks.appIsRunning()) === action.isOn) return;
        return action.isOn ? callbacks.startApp() : callbacks.killApp();
      case "agent":
        if (callbacks.setAgentMood === undefined) return;
        callbacks.setAgentMood(action.mood);
        now = { ...now, agent: action.mood };
    }
  }

  return {
    state: async () => ({ ...now, isAppRunning: await inTime(callbacks.appIsRunning()) }),
    act(action) {
      const acted = last.then(() => inTime(change(action)));
      last = acted.catch(() => undefined);
      return acted;
    },
  };
}

function faultsOf(weather: SlackWeather) {
  if (weather === "clear") return [];
  const fault =
    weather === "rate-limited"
      ? { kind: "ratelimited" as const, retryAfterS: RETRY_AFTER_S }
      : { kind: "http" as const, status: 503, body: "Service Unavailable" };
  return ["*", "response_url"].map((method) => ({ method, times: Number.POSITIVE_INFINITY, fault }));
}

async function inTime<Value>(work: Promise<Value> | Value): Promise<Value> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new WeatherStuck(`The weather didn't change within ${ACT_TIMEOUT_MS} ms. Look at the log.`)),
    ACT_TIMEOUT_MS,
  );
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

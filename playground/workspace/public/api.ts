import type { ActResult, PageAct, StateAnswer, WeatherAction, WeatherState } from "../page-protocol.ts";

const token = document.querySelector<HTMLMetaElement>('meta[name="page-token"]')?.content ?? "";

/** The playground said no; the message is for the person. */
export class Refused extends Error {}

/** Who looks, and at what; empty is nobody and nothing yet. */
export type PagePlace = { as: string; channel: string; thread: string; isWeatherOpen: boolean };

/** All that is shown to `as`, who looks at `channel` and `thread`. */
export async function fetchState(
  { as, channel, thread }: PagePlace,
  signal: AbortSignal,
): Promise<StateAnswer> {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ as, channel, thread })) if (value) query.set(name, value);
  const response = await fetch(`/api/state?${query}`, { signal });
  if (!response.ok) throw await refusal(response);
  return response.json();
}

/** What the answer says is wrong. */
async function refusal(response: Response): Promise<Refused> {
  const body: { error: string } = await response.json();
  return new Refused(body.error);
}

async function send<Result>(path: string, payload: object): Promise<Result> {
  const response = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-page-token": token },
    body: JSON.stringify(payload),
    signal: AbortSignal.timeout(40_000),
  });
  if (!response.ok) throw await refusal(response);
  return response.json();
}

/** Does something as a person. */
export function sendAct(as: string, act: PageAct): Promise<ActResult> {
  return send("/api/act", { as, act });
}

export function sendWeather(action: WeatherAction): Promise<WeatherState> {
  return send("/api/weather", action);
}

/**
 * Calls `onChange` with the page's epoch and version at every change, and `onState` when the
 * connection comes or goes.
 */
export function listen(
  onChange: (news: { epoch: string; version: number }) => void,
  onState: (isConnected: boolean) => void,
): void {
  const source = new EventSource("/api/events");
  source.addEventListener("open", () => onState(true));
  source.addEventListener("change", (event) => onChange(JSON.parse(event.data)));
  source.addEventListener("error", () => {
    onState(false);
    // The browser tries again by itself, except after an answer that is no stream.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => listen(onChange, onState), 2000);
  });
}

import type { ActResult, PageAct, StateAnswer, WeatherAction, WeatherState } from "../page-protocol.ts";

const token = document.querySelector<HTMLMetaElement>('meta[name="page-token"]')?.content ?? "";

/** The playground refused a request. Its message is for the person. */
export class Refused extends Error {}

/** The place and the person of this tab. A text is empty as long as there is none. */
export type PagePlace = { as: string; channel: string; thread: string; isWeatherOpen: boolean };

/** Fetches everything that is shown to `as`, who looks at `channel` and `thread`. */
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

/** Reads the reason from the playground's answer. */
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

/** Performs an act as a person. */
export function sendAct(as: string, act: PageAct): Promise<ActResult> {
  return send("/api/act", { as, act });
}

/** Changes the weather. Resolves to the weather after the change. */
export function sendWeather(action: WeatherAction): Promise<WeatherState> {
  return send("/api/weather", action);
}

/**
 * Calls `onChange` with the page's epoch and version after every change, and `onState` when the
 * connection opens or closes.
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
    // The browser reconnects by itself, except after an answer that isn't a stream.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => listen(onChange, onState), 2000);
  });
}

const token = document.querySelector('meta[name="page-token"]').content;

/** The playground said no; the message is for the person. */
export class Refused extends Error {}

/** All that is shown to `as`, who looks at `channel` and `thread`. */
export async function fetchState({ as, channel, thread }, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ as, channel, thread })) if (value) query.set(name, value);
  const response = await fetch(`/api/state?${query}`, { signal });
  const body = await response.json();
  if (!response.ok) throw Object.assign(new Refused(body.error), { status: response.status });
  return body;
}

async function send(path, payload) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-page-token": token },
    body: JSON.stringify(payload),
    signal: AbortSignal.timeout(40_000),
  });
  const body = await response.json();
  if (!response.ok) throw new Refused(body.error);
  return body;
}

/** Does something as a person. */
export function sendAct(as, act) {
  return send("/api/act", { as, act });
}

export function sendWeather(action) {
  return send("/api/weather", action);
}

/** Calls `onChange` with the page's epoch and version at every change, and `onState` when the connection comes or goes. */
export function listen(onChange, onState) {
  const source = new EventSource("/api/events");
  source.addEventListener("open", () => onState(true));
  source.addEventListener("change", (event) => onChange(JSON.parse(event.data)));
  source.addEventListener("error", () => {
    onState(false);
    // The browser tries again by itself, except after an answer that is no stream.
    if (source.readyState === EventSource.CLOSED) setTimeout(() => listen(onChange, onState), 2000);
  });
}

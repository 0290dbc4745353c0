/** A server-sent event. A text is sent as it is, and anything else as JSON. */
export type Event = { event?: string; data: unknown };

/** Makes a response that streams the events, each in a chunk of its own. */
export function streamOf(events: Iterable<Event>): Response {
  const encoder = new TextEncoder();
  const rest = events[Symbol.iterator]();
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = rest.next();
      if (next.done) {
        controller.close();
        return;
      }
      const { event, data } = next.value;
      const name = event === undefined ? "" : `event: ${event}\n`;
      const text = typeof data === "string" ? data : JSON.stringify(data);
      controller.enqueue(encoder.encode(`${name}data: ${text}\n\n`));
    },
  });
  return new Response(body, {
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
  });
}

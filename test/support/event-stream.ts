/** What a client reads of a stream of server-sent events, one event or comment after the other. */
export async function* readEvents(response: Response): AsyncGenerator<string> {
  let text = "";
  if (response.body === null) return;
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const parts = text.split("\n\n");
    text = parts.pop() ?? "";
    yield* parts;
  }
}

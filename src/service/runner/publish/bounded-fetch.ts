const MAX_BODY_BYTES = 20 * 1024 * 1024;

/** `fetch`, with an error instead of a response body of more than 20 MiB. */
export async function boundedFetch(input: string | URL | Request, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, init);
  if (!response.body) return response;
  let bytes = 0;
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.length;
        if (bytes > MAX_BODY_BYTES) controller.error(new Error("The answer is too large"));
        else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  return new Response(bounded, { status, statusText, headers });
}

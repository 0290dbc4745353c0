import { request } from "node:http";

/**
 * POSTs exactly these headers and bytes over a new connection, as a sender on another machine
 * would. So an app that was killed and started again gets no connection from before. Rejects if the
 * connection fails or `signal` aborts.
 */
export async function post(
  url: string,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>();
  const bytes = Buffer.from(body, "utf8");
  const sent = request(
    url,
    { method: "POST", agent: false, signal, headers: { ...headers, "content-length": bytes.length } },
    (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") }),
      );
    },
  );
  sent.on("error", reject);
  sent.end(bytes);
  return promise;
}

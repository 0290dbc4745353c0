import type { IncomingMessage } from "node:http";

/** Reads a request's body and passes it on. If the caller goes away first, nothing is passed on. */
export function readBodyText(request: IncomingMessage, then: (body: string) => void): void {
  const chunks: Buffer[] = [];
  request.on("error", () => undefined);
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => then(Buffer.concat(chunks).toString("utf8")));
}

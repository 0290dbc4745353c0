import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

/** A site on this machine. `pages` are its pages by their paths; the others aren't there. */
export async function openSite(listener?: RequestListener) {
  const pages: Record<string, string> = {};
  const asked: string[] = [];
  const headers: Record<string, unknown>[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    headers.push(request.headers);
    if (listener !== undefined) return listener(request, response);
    const page = pages[request.url ?? ""];
    response.writeHead(page === undefined ? 404 : 200, { "content-type": "text/html; charset=utf-8" });
    response.end(page ?? "Not found");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    pages,
    asked,
    headers,
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

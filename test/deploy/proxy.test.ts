import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { startProxy } from "../support/haproxy.ts";

/** How a replica takes requests, and how many it took. */
class Replica implements AsyncDisposable {
  readonly bodies: string[] = [];
  /** How many began to arrive. */
  requests = 0;
  isReady = true;
  isCut = false;
  readonly #server = createServer((request, response) => {
    if (request.url === "/readyz") {
      response.writeHead(this.isReady ? 200 : 503).end();
      return;
    }
    this.requests += 1;
    void text(request).then((body) => {
      this.bodies.push(body);
      if (this.isCut) response.destroy();
      else response.end("taken");
    });
  });

  async listen(): Promise<string> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    return `127.0.0.1:${address === null || typeof address === "string" ? 0 : address.port}`;
  }

  async end(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.end();
  }
}

/** As Slack does, which waits 3 s. */
async function ask(url: string, body: string): Promise<number> {
  const signal = AbortSignal.timeout(3000);
  return (await fetch(`${url}/slack/events`, { method: "POST", body, signal })).status;
}

describe("deploy/haproxy.cfg, on a real HAProxy", () => {
  it("sends what a replica that has just died doesn't take to the other one, once", async () => {
    await using first = new Replica();
    await using second = new Replica();
    await using proxy = await startProxy([await first.listen(), await second.listen()]);
    await expect
      .poll(async () => {
        await ask(proxy.url, "hello");
        return Math.min(first.requests, second.requests);
      })
      .toBeGreaterThan(0);
    await first.end();
    second.bodies.length = 0;
    const requests = Array.from({ length: 6 }, (_, n) => String(n));
    for (const request of requests) expect(await ask(proxy.url, request)).toBe(200);
    expect(second.bodies).toEqual(requests);
  });

  it("never sends a request twice: the answer to the first one may only be late", async () => {
    await using first = new Replica();
    await using second = new Replica();
    await using proxy = await startProxy([await first.listen(), await second.listen()]);
    first.isCut = true;
    second.isCut = true;
    expect(await ask(proxy.url, "fix it")).toBe(502);
    expect(first.requests + second.requests).toBe(1);
  });

  it("leaves out a replica that isn't ready, and asks any if none is, in time for Slack", async () => {
    await using first = new Replica();
    await using second = new Replica();
    first.isReady = false;
    await using proxy = await startProxy([await first.listen(), await second.listen()]);
    // It looks every second.
    await expect
      .poll(
        async () => {
          const before = first.bodies.length;
          for (let n = 0; n < 4; n += 1) await ask(proxy.url, "one of four");
          return first.bodies.length - before;
        },
        { timeout: 20_000, interval: 500 },
      )
      .toBe(0);
    second.isReady = false;
    await expect
      .poll(
        async () => {
          expect(await ask(proxy.url, "none ready")).toBe(200);
          return first.bodies.includes("none ready");
        },
        { timeout: 20_000, interval: 100 },
      )
      .toBe(true);
    expect(await ask(proxy.url, "the last")).toBe(200);
    expect([...first.bodies, ...second.bodies].filter((body) => body === "the last")).toHaveLength(1);
  });

  it("shows nothing but the way in for Slack", async () => {
    await using replica = new Replica();
    const at = await replica.listen();
    await using proxy = await startProxy([at, at]);
    for (const path of ["/readyz", "/healthz", "/", "/slack/events/more"]) {
      expect((await fetch(proxy.url + path)).status).toBe(404);
    }
  });
});

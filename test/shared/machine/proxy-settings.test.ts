import { once } from "node:events";
import { createServer } from "node:http";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createDispatcher } from "../../../src/shared/machine/dispatcher.ts";
import { proxyFor, readProxySettings } from "../../../src/shared/machine/proxy.ts";

it("reads names in lower case first, takes a bare host:port, and shows no value that is wrong", () => {
  expect(
    readProxySettings({
      https_proxy: "a.internal:1",
      HTTPS_PROXY: "http://b.internal:2",
      NO_PROXY: " x, y ",
    }),
  ).toEqual({ proxy: { http: "", https: "http://a.internal:1", none: "x, y" }, faults: [] });
  expect(readProxySettings({ HTTP_PROXY: "socks5://user:secret@c.internal" })).toEqual({
    proxy: { http: "", https: "", none: "" },
    faults: ["HTTP_PROXY must be the http(s) URL of your proxy, such as http://proxy.internal:3128."],
  });
});

it("sends the agent's connections by the proxy exactly where the service's own requests go by it", async () => {
  const asked: string[] = [];
  const proxy = createServer().on("connect", (request, socket) => {
    asked.push(String(request.url));
    socket.destroy();
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const address = proxy.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  const entry = fc.constantFrom(
    "a.invalid",
    ".a.invalid",
    "*.b.invalid",
    "invalid:81",
    "c.a.invalid:80",
    "A.Invalid",
    "nvalid",
  );
  const host = fc.constantFrom("a.invalid", "c.a.invalid", "b.invalid", "ca.invalid", "d.invalid");
  await fc.assert(
    fc.asyncProperty(
      fc.array(entry, { maxLength: 3 }),
      fc.constantFrom(",", " ", ", "),
      host,
      fc.constantFrom(80, 81, 443),
      async (entries, separator, name, port) => {
        const settings = { http: url, https: "", none: entries.join(separator) };
        const dispatcher = createDispatcher(settings, { timeoutMs: 2000 });
        asked.length = 0;
        await dispatcher
          .request({ origin: `http://${name}:${port}`, path: "/", method: "GET" })
          .catch(() => {});
        await dispatcher.destroy();
        const chosen = proxyFor(settings, { scheme: "http", host: name, port });
        expect(chosen !== null).toBe(asked.length > 0);
      },
    ),
    { numRuns: 60 },
  );
  proxy.close();
  expect(
    proxyFor({ http: url, https: "", none: "*" }, { scheme: "https", host: "a.invalid", port: 443 }),
  ).toBeNull();
});

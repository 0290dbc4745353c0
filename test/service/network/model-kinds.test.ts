import fc from "fast-check";
import { expect, it } from "vitest";
import {
  findOperation,
  MODEL_KINDS,
  parseModelTarget,
  upstreamUrl,
} from "../../../src/service/network/gateway/model-kinds.ts";

const ONLY =
  /^(?:\/v\w+)?\/(?:messages(?:\/count_tokens)?|chat\/completions|responses(?:\/compact)?|models(?:\/[^/]+)?)$/;
const kinds = fc.constantFrom(...MODEL_KINDS);

it("leads nowhere but below the base URL, whatever the agent asks for", () => {
  const part = fc.constantFrom(
    ..."v1 v1beta v4 messages chat completions responses compact models count_tokens files batches .. . %2e%2e %2f a:b".split(
      " ",
    ),
    "models/m:generateContent",
    "m:streamGenerateContent",
    "@evil.test",
    "\\",
    "",
  );
  // Valid ones, with something odd before or after.
  const known = fc.constantFrom(
    "messages",
    "chat/completions",
    "responses",
    "models/x",
    "models/m:generateContent",
  );
  const odd = fc.option(part, { nil: null, freq: 2 });
  const path = fc.oneof(
    {
      weight: 5,
      arbitrary: fc
        .tuple(odd, known, odd)
        .map((parts) => `/${parts.filter((one) => one !== null).join("/")}`),
    },
    fc.array(part, { maxLength: 6 }).map((parts) => `/${parts.join("/")}`),
    fc.webPath(),
    fc.string().map((text) => `/${text}`),
  );
  const base = fc.constantFrom(
    "https://up.test",
    "https://up.test/",
    "https://up.test/a/b/",
    "http://127.0.0.1:9/v1",
  );
  let found = 0;
  fc.assert(
    fc.property(
      kinds,
      fc.constantFrom("GET", "POST", "PUT", "DELETE"),
      path,
      base,
      (kind, method, asked, baseUrl) => {
        const operation = findOperation(kind, method, asked);
        if (operation === null) return;
        found += 1;
        const url = upstreamUrl(kind, baseUrl, operation);
        const { origin, pathname } = new URL(baseUrl);
        expect(url.origin).toBe(origin);
        expect(url.pathname.endsWith(operation.path)).toBe(true);
        expect(pathname.startsWith(url.pathname.slice(0, -operation.path.length))).toBe(true);
        expect(url.pathname).not.toMatch(/\/\.{0,2}(?:\/|$)|%/);
        expect(operation.path).toMatch(ONLY);
      },
    ),
    { numRuns: 2000 },
  );
  expect(found).toBeGreaterThan(20);
});

it("finds the parts of a target and nothing in what isn't one", () => {
  expect(parseModelTarget("/models/up/v1/messages?beta=true&key=a%20b")).toMatchObject({
    upstream: "up",
    path: "/v1/messages",
  });
  fc.assert(
    fc.property(fc.string(), (text) => {
      const target = parseModelTarget(text);
      if (target !== null) expect(text.startsWith(`/models/${target.upstream}${target.path}`)).toBe(true);
    }),
  );
  for (const text of [
    "",
    "/",
    "/models",
    "/models/",
    "/models/up",
    "/models//x",
    "/models/up/x#y",
    "http://h/models/up/x",
  ]) {
    expect(parseModelTarget(text)).toBeNull();
  }
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { AnswerUsage, NO_USAGE, READERS } from "../../../src/service/network/gateway/answer-usage.ts";
import { costUsdOf, priceOf } from "../../../src/service/network/gateway/turn-budget.ts";
import { keyPattern, KeyScrubber } from "../../../src/service/network/gateway/send-answer.ts";
import { TurnBudget } from "../../../src/service/network/gateway/turn-budget.ts";
import { ANSWERS } from "./model-answers.ts";

function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [...ends, bytes.length].map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end));
}
const EXPECTED = { ...NO_USAGE, inputTokens: 100, outputTokens: 5000 };
const cuts = fc.array(fc.nat(5000), { maxLength: 30 });

it("reads the same usage wherever the answer is cut into pieces", () => {
  const format = { anthropic: "anthropic", openai: "openai-chat", gemini: "gemini" } as const;
  fc.assert(
    fc.property(fc.constantFrom(...ANSWERS), cuts, (answer, at) => {
      const isResponses = answer.path.endsWith("/responses");
      const usage = new AnswerUsage(
        isResponses ? "openai-responses" : format[answer.kind],
        EXPECTED,
        answer.contentType,
      );
      for (const piece of split(Buffer.from(answer.text), at)) usage.take(piece);
      usage.end();
      expect(usage.total()).toEqual({
        usage: { inputTokens: 1000, cachedInputTokens: 200, outputTokens: 50, surchargeTokens: 0 },
        isEstimate: false,
      });
    }),
  );
});

it("never counts less than nothing, whatever a provider reports", () => {
  const formats = fc.constantFrom("anthropic", "openai-chat", "openai-responses", "gemini");
  const anything = fc.oneof(
    fc.json().map((text): unknown => JSON.parse(text)),
    fc.record({
      usage: fc.dictionary(fc.constantFrom("input_tokens", "prompt_tokens", "total_tokens"), fc.anything()),
    }),
    fc.record({
      usageMetadata: fc.dictionary(fc.constantFrom("promptTokenCount", "totalTokenCount"), fc.anything()),
    }),
  );
  fc.assert(
    fc.property(formats, anything, (format, event) => {
      const report = READERS[format](event);
      for (const count of Object.values(report?.usage ?? {})) expect(count).toBeGreaterThanOrEqual(0);
    }),
  );
});

it("estimates an answer of which one event is too long to keep", () => {
  const usage = new AnswerUsage("anthropic", EXPECTED, "text/event-stream");
  for (let at = 0; at < 20; at += 1) usage.take(Buffer.alloc(1024 ** 2, "data: x"));
  usage.end();
  expect(usage.total()).toMatchObject({
    usage: { inputTokens: 100, outputTokens: (20 * 1024 ** 2) / 4 },
    isEstimate: true,
  });
});

it.each([
  ["no report", "openai-chat", {}, 100, 5000],
  ["a report with each piece", "openai-chat", chatPiece({ delta: {}, finish_reason: null }), 9, 5000],
  ["the last piece of a choice", "openai-chat", chatPiece({ delta: {}, finish_reason: "stop" }), 9, 20],
  ["a report after the choices", "openai-chat", chatPiece(), 9, 20],
  ["a response that goes on", "openai-responses", responseEvent("in_progress"), 9, 5000],
  ["a response that is done", "openai-responses", responseEvent("completed"), 9, 20],
  [
    "a message's start",
    "anthropic",
    { type: "message_start", message: { usage: { input_tokens: 9 } } },
    9,
    5000,
  ],
] as const)(
  "counts what was expected of an answer that breaks off after %s, unless the report is final",
  (_title, format, event, inputTokens, outputTokens) => {
    const usage = new AnswerUsage(format, EXPECTED, "text/event-stream");
    usage.take(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
    const counted = usage.total();
    expect(counted.isEstimate).toBe(true);
    expect(counted.usage.inputTokens).toBe(inputTokens);
    // Or the answer's length, where that says more.
    expect(counted.usage.outputTokens).toBeGreaterThanOrEqual(outputTokens);
    expect(counted.usage.outputTokens).toBeLessThan(outputTokens + 50);
  },
);

function chatPiece(...choices: object[]) {
  return { choices, usage: { prompt_tokens: 9, completion_tokens: 20 } };
}

function responseEvent(status: string) {
  return { response: { status, usage: { input_tokens: 9, output_tokens: 20 } } };
}

it("reads what providers report beside the usual", () => {
  // Written to the cache for 5 minutes (600) and for an hour (400): 1.25 and 2 times the price.
  const written = { cache_creation_input_tokens: 1000, cache_creation: { ephemeral_1h_input_tokens: 400 } };
  expect(READERS.anthropic({ type: "message", usage: { input_tokens: 1, ...written } })?.usage).toMatchObject(
    {
      inputTokens: 1001,
      surchargeTokens: 600 * 0.25 + 400,
    },
  );
  // Reasoning that stands in the total alone.
  const chat = {
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 45, prompt_cache_hit_tokens: 4 },
  };
  expect(READERS["openai-chat"](chat)?.usage).toMatchObject({ outputTokens: 35, cachedInputTokens: 4 });
  expect(
    READERS.gemini({
      usageMetadata: { promptTokenCount: 9, toolUsePromptTokenCount: 2, totalTokenCount: 20 },
    }),
  ).toEqual({
    usage: { inputTokens: 11, cachedInputTokens: 0, outputTokens: 9, surchargeTokens: 0 },
    isFinal: false,
  });
});

it("finds a model's price by its name, else by the first pattern that fits", () => {
  const price = (input: number) => ({ input, output: 0 });
  const prices = {
    "gpt-*": price(1),
    "gpt-5*": price(2),
    "gpt-5": price(3),
    "*/claude-?": price(4),
    "x{a,b}": price(5),
  };
  expect(priceOf(prices, "gpt-5")?.input).toBe(3);
  expect(priceOf(prices, "gpt-5-mini")?.input).toBe(1);
  expect(priceOf(prices, "anthropic/claude-x")?.input).toBe(4);
  expect(priceOf(prices, "a/b/claude-x")?.input).toBe(4);
  expect(priceOf(prices, "claude-x")).toBeNull();
  expect(priceOf(prices, "toString")).toBeNull();
  expect(costUsdOf({ ...NO_USAGE, inputTokens: 1e6, cachedInputTokens: 5e5 }, price(2))).toBe(2);
});

it("removes a key wherever the pieces are cut, and leaves everything else", () => {
  const key = "sk-abcabcabd-1234";
  // Of the last character, most bits aren't the key's.
  const base64 = Buffer.from(key).toString("base64url").slice(0, -1);
  const part = fc.oneof(
    fc.constantFrom(key, base64, "sk-", "sk-abc", "sk-abcabcab", "abd-1234", base64.slice(0, 9)),
    fc.string({ maxLength: 5 }),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), cuts, (parts, at) => {
      const text = parts.join("");
      const scrubber = new KeyScrubber(keyPattern(key));
      const pieces = split(Buffer.from(text), at).map((piece) => scrubber.push(piece));
      const clean = Buffer.concat([...pieces, scrubber.flush()]).toString();
      expect(clean).not.toContain(key);
      expect(clean).not.toContain(base64);
      expect(clean).toBe(text.replaceAll(base64, "[key]").replaceAll(key, "[key]"));
    }),
  );
});

it.each([
  ["base64", (key: string) => Buffer.from(key).toString("base64")],
  ["base64 of user:key", (key: string) => Buffer.from(`user:${key}`).toString("base64")],
  ["base64 of u:key", (key: string) => Buffer.from(`u:${key}`).toString("base64")],
  ["base64 of key:", (key: string) => Buffer.from(`${key}:`).toString("base64url")],
  ["base64 of :key:", (key: string) => Buffer.from(`:${key}:`).toString("base64url")],
  ["hex", (key: string) => Buffer.from(key).toString("hex")],
  ["upper case hex", (key: string) => Buffer.from(key).toString("hex").toUpperCase()],
  ["percent signs", (key: string) => Buffer.from(key).toString("hex").replaceAll(/../g, "%$&")],
  ["JSON escapes", (key: string) => Buffer.from(key).toString("hex").replaceAll(/../g, "\\u00$&")],
  ["escapes of some characters", (key: string) => key.replaceAll("/", "\\/").replaceAll("+", "\\u002B")],
  ["JSON in JSON", (key: string) => JSON.stringify(key.replaceAll("/", "\\/").replaceAll("?", "\\u003f"))],
  ["a URL in a URL", (key: string) => encodeURIComponent(encodeURIComponent(key))],
  ["escaped Base64", (key: string) => Buffer.from(key).toString("base64").replaceAll("/", "\\/")],
])("removes a key that is written in %s, and all but a few bits of it", (_title, write) => {
  const key = "sk-abc/?~+Zz0123456";
  const text = write(key);
  const scrubber = new KeyScrubber(keyPattern(key));
  const pieces = Array.from(Buffer.from(`<${text}>`), (byte) => scrubber.push(Buffer.of(byte)));
  const clean = Buffer.concat([...pieces, scrubber.flush()]).toString();
  expect(clean).toContain("[key]");
  // Of the text around the key, and at most a character at each end that it shares with it.
  expect(clean.length).toBeLessThanOrEqual("<dXNlcj[key]Y=>".length);
});

it("leaves a short key alone, which is a word that a local server takes", () => {
  expect(new KeyScrubber(keyPattern("ollama")).push(Buffer.from("ask ollama")).toString()).toBe("ask ollama");
});

it("lets calls start only while they fit, in any order of events", async () => {
  const calls = fc.array(fc.record({ expected: fc.nat(50), used: fc.nat(100) }), {
    minLength: 1,
    maxLength: 20,
  });
  await fc.assert(
    fc.asyncProperty(
      calls,
      fc.integer({ min: 1, max: 300 }),
      fc.infiniteStream(fc.nat()),
      async (given, tokens, pick) => {
        let reasons = 0;
        const budget = new TurnBudget({ tokens, usd: null }, { onExceeded: () => (reasons += 1) });
        const never = new AbortController().signal;
        const tokensOf = (inputTokens: number) => ({ ...NO_USAGE, inputTokens, usd: 0 });
        const running: { expected: number; used: number; end: () => void }[] = [];
        let settled = 0;
        let refused = 0;
        for (const { expected, used } of given) {
          void budget.admit(tokensOf(expected), never).then((charge) => {
            if (charge === null) {
              refused += 1;
              return;
            }
            const others = running.reduce((sum, call) => sum + call.expected, 0);
            // Alone, or it fits.
            expect(settled).toBeLessThan(tokens);
            if (running.length > 0) expect(settled + others + expected).toBeLessThanOrEqual(tokens);
            running.push({ expected, used, end: () => charge.settle(tokensOf(used)) });
          });
        }
        await Promise.resolve();
        let ended = 0;
        for (; running.length > 0; ended += 1) {
          const [call] = running.splice(Number(pick.next().value) % running.length, 1);
          settled += call?.used ?? 0;
          call?.end();
          await new Promise((resolve) => setImmediate(resolve));
        }
        // Nobody waits for ever.
        expect(ended + refused).toBe(given.length);
        expect(budget.usage().inputTokens).toBe(settled);
        expect(reasons).toBe(settled >= tokens ? 1 : 0);
      },
    ),
  );
});

it("lets a call that is given up out of the line", async () => {
  const budget = new TurnBudget({ tokens: 10, usd: null }, { onExceeded: () => {} });
  const spending = { ...NO_USAGE, inputTokens: 8, usd: 0 };
  const first = await budget.admit(spending, new AbortController().signal);
  const gone = new AbortController();
  const second = budget.admit(spending, gone.signal);
  const third = budget.admit({ ...spending, inputTokens: 1 }, new AbortController().signal);
  gone.abort();
  expect(await second).toBeNull();
  expect(await third).not.toBeNull();
  first?.settle({ ...spending, inputTokens: 1 });
  expect(budget.reason).toBeNull();
});

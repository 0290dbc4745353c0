// @module-tag all

import fc from "fast-check";
import { expect, it } from "vitest";
import { boundedFetch } from "../../../src/service/pulls/code-host/bounded-fetch.ts";
import { startHttpSide } from "../../support/turn-network.ts";

const MAX_TEXT_BYTES = 20;
/** Escaped in JSON, or of several bytes, or with a meaning of their own. */
const text = fc.string({
  unit: fc.constantFrom("a", "u", "é", "ก", "😀", '"', "\\", "\u0001", "\n", "[", "{", ",", "0041", "\\u"),
  maxLength: 40,
});
const answer = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    text,
    fc.constantFrom(null, true, 1),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom("body", "title", "é"), tie("value")),
  ),
})).value;

/** True if the texts of `cut` are beginnings of those of `whole`, as long as they may be. */
function isBeginning(whole: unknown, cut: unknown): boolean {
  if (typeof whole === "string" && typeof cut === "string") {
    const isCut = whole.startsWith(cut) && Buffer.byteLength(JSON.stringify(cut)) > MAX_TEXT_BYTES;
    return whole === cut || isCut;
  }
  if (typeof whole !== "object" || whole === null || typeof cut !== "object" || cut === null) {
    return Object.is(whole, cut);
  }
  const [ofWhole, ofCut] = [Object.entries(whole), Object.entries(cut)];
  return (
    ofWhole.length === ofCut.length &&
    ofWhole.every(([key, value], at) => key === ofCut[at]?.[0] && isBeginning(value, ofCut[at]?.[1]))
  );
}

it("cuts long texts of an answer, and nothing else, wherever its chunks end", async () => {
  let sent: Buffer[] = [];
  await using host = await startHttpSide((_seen, _request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    for (const chunk of sent) response.write(chunk);
    response.end();
  });
  await fc.assert(
    fc.asyncProperty(answer, fc.integer({ min: 1, max: 9 }), async (value, size) => {
      const bytes = Buffer.from(JSON.stringify(value));
      const starts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => at * size);
      sent = starts.map((start) => bytes.subarray(start, start + size));
      expect(await (await boundedFetch(host.url)).json()).toEqual(value);
      const cut: unknown = await (await boundedFetch(host.url, {}, { maxTextBytes: MAX_TEXT_BYTES })).json();
      expect({ value, cut, isBeginning: isBeginning(value, cut) }).toMatchObject({ isBeginning: true });
    }),
  );
});

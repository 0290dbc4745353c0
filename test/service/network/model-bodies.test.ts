import { existsSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import * as bodies from "../../../src/service/network/gateway/model-bodies.ts";
import { compareWithSdks, type Known } from "../../model-apis/compare.ts";
import { ALLOWED_BESIDES, LEFT_OUT, namesIn } from "../../model-apis/decisions.ts";
import { REQUIRES_ALL } from "../../support/tools.ts";

const MODEL_APIS = new URL("../../model-apis/", import.meta.url);

const known: Known = JSON.parse(readFileSync(new URL("known.json", MODEL_APIS), "utf8"));
const { KNOWN_BETAS, ...shapes } = bodies;
const { unknown, besides } = compareWithSdks(shapes, known);
const unknownBetas = known.betas.filter((value) => !KNOWN_BETAS.has(value)).map((value) => `betas.${value}`);
const betasBesides = [...KNOWN_BETAS].filter((value) => !known.betas.includes(value));

// For an undecided name, add it to model-bodies.ts, or give the reason in decisions.ts.
it("says of everything that a model's SDK knows whether it is sent on", () => {
  expect(judge([...unknown, ...unknownBetas], LEFT_OUT)).toEqual({ undecided: [], outdated: [] });
});

it("sends nothing on that no SDK knows, but for a reason", () => {
  const found = [...besides, ...betasBesides.map((value) => `betas.${value}`)];
  expect(judge(found, ALLOWED_BESIDES)).toEqual({ undecided: [], outdated: [] });
});

/** The names without a reason, and the reasons' names that aren't needed anymore. */
function judge(found: readonly string[], reasons: typeof LEFT_OUT) {
  const decided = namesIn(reasons);
  return {
    undecided: found.filter((name) => !decided.includes(name)),
    outdated: decided.filter((name) => !found.includes(name)),
  };
}

it("knows what the installed SDKs know", async (test) => {
  const isInstalled = existsSync(new URL("node_modules/typescript", MODEL_APIS));
  if (!isInstalled && !REQUIRES_ALL) test.skip("The SDKs weren't asked. Run: npm run model-bodies");
  const { readSdks } = await import("../../model-apis/read-sdks.mjs");
  expect(readSdks()).toEqual(known);
});

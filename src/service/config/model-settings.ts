import { z } from "zod";
import { MODEL_KINDS } from "../network/gateway/model-kinds.ts";
import {
  dollars,
  EnvName,
  UrlSetting,
  listSetting,
  ModelName,
  sectionSetting,
  text,
} from "./setting-types.ts";

const WANT_PRICES = 'a price per model or pattern, for example "gpt-5*": { input: 1.25, output: 10 }';
const Price = z.strictObject(
  {
    input: dollars("the price of a million tokens of input"),
    output: dollars("the price of a million tokens of output"),
    cachedInput: dollars("the price of a million tokens of cached input").optional(),
  },
  WANT_PRICES,
);
const WANT_EXTRAS = "lists of names under fields, tools and betas, as the log shows them";
const ExtraNames = listSetting(text(WANT_EXTRAS, 100, /^[\w.:/@=[\]-]+$/), WANT_EXTRAS).default([]);
/** The version of an API at the end of its address. */
const VERSION = /\/v\d\w*\/*$/;
/** A model that agents reach through the gateway. */
export const ModelSetting = z
  .strictObject({
    name: ModelName,
    kind: z.enum(MODEL_KINDS, `the upstream's API: one of ${MODEL_KINDS.join(", ")}`),
    baseUrl: UrlSetting.optional(),
    keyEnv: EnvName,
    prices: z.record(z.string().min(1).max(200), Price, WANT_PRICES).default({}),
    allow: sectionSetting({ fields: ExtraNames, tools: ExtraNames, betas: ExtraNames }, WANT_EXTRAS),
  })
  .refine(({ kind, baseUrl = "" }) => kind === "openai" || !VERSION.test(baseUrl), {
    path: ["baseUrl"],
    error: "the address without the version at its end, which the service adds for this kind",
  });

import { z } from "zod";
import { isJsonFields } from "../../../shared/text/json-fields.ts";
import { jsonOf } from "../../../shared/text/text.ts";
import { createJsonMeter } from "../../base/json-size.ts";
import { type CallUsage, estimateTokens, NO_USAGE, type UsageFormat } from "./answer-usage.ts";
import { ModelCallFault } from "./model-trouble.ts";

/** A model call as it is sent to the upstream. */
export type ModelCall = {
  model: string;
  body: string;
  /**
   * The body to send if the upstream doesn't know the fields that we added. Null if we added none.
   */
  plainBody: string | null;
  /** The most that the call may use, as far as the request shows. */
  expected: CallUsage;
};

/** The output that is expected if the request sets no limit. */
const EXPECTED_OUTPUT_TOKENS = 8192;

/** A provider may also read "65536" as a number, and then we would expect less than it delivers. */
const Limit = z.number().nullish();
/** A request with more values is an attack on whoever reads it. */
const MAX_VALUES = 100_000;
/** The fields that we look at, for all APIs. */
const Body = z.object({
  model: z.string().optional(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.unknown().optional() }).nullish(),
  max_tokens: Limit,
  max_completion_tokens: Limit,
  max_output_tokens: Limit,
  n: Limit,
  generationConfig: z.object({ maxOutputTokens: Limit, candidateCount: Limit }).nullish(),
});
type Body = z.infer<typeof Body>;

/**
 * The form of a model's name in URLs and price lists. Providers could read other names as a
 * different model.
 */
const MODEL_NAME = /^[!-~]{1,200}$/;

/**
 * Makes a call of what may be sent on of a body of `bytes`. `pathModel` is the model that its path
 * names, if it does. Throws a {@link ModelCallFault} for a call that can't be counted.
 */
export function prepareCall(
  { format, pathModel }: { format: UsageFormat; pathModel: string | null },
  plain: object,
  bytes: number,
): ModelCall {
  const body = parseBody(plain);
  const model = pathModel ?? body.model ?? "";
  if (!MODEL_NAME.test(model)) throw new ModelCallFault(400, "The request names no model.");
  const options = body.stream_options;
  const asksForUsage = format !== "openai-chat" || body.stream !== true || options?.include_usage === true;
  const asking = { ...plain, stream_options: { ...options, include_usage: true } };
  return {
    model,
    body: JSON.stringify(asksForUsage ? plain : asking),
    plainBody: asksForUsage ? null : JSON.stringify(plain),
    expected: { ...NO_USAGE, inputTokens: estimateTokens(bytes), outputTokens: expectedOutput(body) },
  };
}

/** Other values mean "no limit", or nothing. */
function isLimit(value: number | null | undefined): value is number {
  return typeof value === "number" && value >= 1 && value <= 10_000_000;
}

/** Parses a request's body. Throws a {@link ModelCallFault} if it isn't a usable JSON object. */
export function parseRequest(given: Buffer): object {
  refuseManyValues(given);
  const json = jsonOf(given.toString("utf8"));
  if (json === undefined) throw new ModelCallFault(400, "The request's body isn't JSON.");
  if (isJsonFields(json)) return json;
  throw new ModelCallFault(400, "The request's body isn't a JSON object.");
}

function parseBody(json: object): Body {
  const parsed = Body.safeParse(json);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path }) => path.map(String).join("."));
  throw new ModelCallFault(400, `The request isn't valid: check ${[...new Set(fields)].join(", ")}.`);
}

/** Uses the limits of the call's API. Other fields are no longer in the body. */
function expectedOutput({ generationConfig, ...body }: Body): number {
  const limits = [
    body.max_tokens,
    body.max_completion_tokens,
    body.max_output_tokens,
    generationConfig?.maxOutputTokens,
  ].flatMap((limit) => (isLimit(limit) ? [limit] : []));
  const most = limits.length === 0 ? EXPECTED_OUTPUT_TOKENS : Math.max(...limits);
  return most * Math.max(...[1, body.n, generationConfig?.candidateCount].filter(isLimit));
}

function refuseManyValues(given: Buffer): void {
  if (createJsonMeter()(given).values <= MAX_VALUES) return;
  throw new ModelCallFault(400, `The request holds more than ${MAX_VALUES} values. Send fewer.`);
}

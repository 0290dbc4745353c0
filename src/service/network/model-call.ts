import { z } from "zod";
import { estimateTokens } from "./answer-usage.ts";
import { type AllowedBesides, admit, type Shape } from "./body-shape.ts";
import { ModelCallFault } from "./model-call-fault.ts";
import { type CallUsage, NO_USAGE, type UsageFormat } from "./usage-formats.ts";

/** A model call as it goes to the upstream. */
export type ModelCall = {
  model: string;
  body: string;
  /** What to send if the upstream doesn't know what we added to the body; null: nothing was added. */
  plainBody: string | null;
  /** What the call may use, as far as the request shows. */
  expected: CallUsage;
};

/** What an answer is expected to have where the request sets no bound. */
const EXPECTED_OUTPUT_TOKENS = 8192;

const TokenLimit = z.int().min(1).max(10_000_000).optional().catch(undefined);
/** Only what we look at, of all APIs. */
const Body = z.object({
  model: z.string().optional(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.unknown().optional() }).nullish(),
  max_tokens: TokenLimit,
  max_completion_tokens: TokenLimit,
  max_output_tokens: TokenLimit,
  n: TokenLimit,
  generationConfig: z
    .object({ maxOutputTokens: TokenLimit, candidateCount: TokenLimit })
    .optional()
    .catch(undefined),
});
type Body = z.infer<typeof Body>;

/** What stands for a model in URLs and in prices: providers could read others as another one. */
const MODEL_NAME = /^[!-~]{1,200}$/;

/** Reads a call and makes what is sent on. `pathModel` is the model that its path names, if it does. Throws a {@link ModelCallFault} for a call that can't be counted. */
export function prepareCall(
  { format, shape, pathModel }: { format: UsageFormat; shape: Shape; pathModel: string | null },
  given: Buffer,
  admission: AllowedBesides,
): ModelCall {
  // Written anew: of two fields with one name, the upstream could read the other one.
  const plain = admit(shape, parseJson(given), admission);
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
    expected: {
      ...NO_USAGE,
      inputTokens: estimateTokens(given.length),
      outputTokens: expectedOutput(body),
    },
  };
}

/** Reads a request that costs nothing and makes what is sent on, by the same rules. */
export function prepareFreeCall(shape: Shape, given: Buffer, admission: AllowedBesides): string {
  return JSON.stringify(admit(shape, parseJson(given), admission));
}

function parseJson(given: Buffer): object {
  let json: unknown;
  try {
    json = JSON.parse(given.toString("utf8"));
  } catch {
    throw new ModelCallFault(400, "The request's body isn't JSON.");
  }
  if (typeof json === "object" && json !== null && !Array.isArray(json)) return json;
  throw new ModelCallFault(400, "The request's body isn't a JSON object.");
}

function parseBody(json: object): Body {
  const parsed = Body.safeParse(json);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path }) => path.map(String).join("."));
  throw new ModelCallFault(400, `The request isn't valid: check ${[...new Set(fields)].join(", ")}.`);
}

/** By the limits of its API, which are all that was left of a body. */
function expectedOutput({ generationConfig, ...body }: Body): number {
  const limits = [
    body.max_tokens,
    body.max_completion_tokens,
    body.max_output_tokens,
    generationConfig?.maxOutputTokens,
  ].filter((limit) => limit !== undefined);
  const most = limits.length === 0 ? EXPECTED_OUTPUT_TOKENS : Math.max(...limits);
  return most * (body.n ?? generationConfig?.candidateCount ?? 1);
}

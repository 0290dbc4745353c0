import { z } from "zod";
import { estimateTokens } from "./answer-usage.ts";
import { hasLinkedContent } from "./linked-content.ts";
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
/** Gemini reads names in either case. */
const GenerationConfig = z
  .object({
    maxOutputTokens: TokenLimit,
    max_output_tokens: TokenLimit,
    candidateCount: TokenLimit,
    candidate_count: TokenLimit,
  })
  .optional()
  .catch(undefined);
/** Only what we look at. */
const Body = z.object({
  model: z.string().max(200).optional(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.unknown().optional() }).nullish(),
  background: z.unknown().optional(),
  max_tokens: TokenLimit,
  max_completion_tokens: TokenLimit,
  max_output_tokens: TokenLimit,
  n: TokenLimit,
  generationConfig: GenerationConfig,
  generation_config: GenerationConfig,
  tools: z.array(z.unknown()).nullish(),
});
type Body = z.infer<typeof Body>;

/**
 * Tools that run on the agent's side. With those that the provider runs (search, fetch, MCP servers, code) an agent would reach
 * the web past the list of hosts, and spend money that isn't counted in tokens.
 */
const AGENT_TOOL =
  /^(?:function|custom|namespace|local_shell|shell|apply_patch|bash|text_editor|computer|memory|tool_search)(?:_|$)/;
/** The same without `tools`, and what leads a call to another model than the one whose price counts. */
const LEFT_OUT = [
  "container",
  "enable_search",
  "fallbacks",
  "mcp_servers",
  "models",
  "plugins",
  "preset",
  "search_parameters",
  "web_search_options",
] as const;
/** What is stored at the provider, perhaps by somebody else who has the same key. */
const STORED = ["cachedContent", "cached_content", "conversation", "previous_response_id", "prompt"] as const;

/**
 * Reads a call and makes what is sent on. `pathModel` is the model that the path names, if it does. Throws a
 * {@link ModelCallFault} for a call that can't be counted.
 */
export function prepareCall(format: UsageFormat, pathModel: string | null, given: Buffer): ModelCall {
  const json = parseJson(given);
  const body = parseBody(json);
  const model = pathModel ?? body.model ?? "";
  if (model === "") throw new ModelCallFault(400, "The request names no model.");
  // Its usage would come with a later request, if ever.
  if (format === "openai-responses" && (body.background ?? false) !== false) {
    throw new ModelCallFault(400, "Background responses aren't available here. Leave out background.");
  }
  // Written anew: of two fields with one name, the upstream could read the other one.
  const plain = withAgentTools(selfContained(json), body.tools ?? null, format);
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
      outputTokens: expectedOutput(format, body),
    },
  };
}

/** Reads a request that costs nothing and makes what is sent on, by the same rules. */
export function prepareFreeCall(given: Buffer): string {
  return JSON.stringify(selfContained(parseJson(given)));
}

/** The request without what the provider would do for the agent. Throws if it needs what the provider has, or would get from elsewhere. */
function selfContained(json: object): Record<string, unknown> {
  const rest: Record<string, unknown> = { ...json };
  for (const field of LEFT_OUT) delete rest[field];
  const stored = STORED.find((field) => (rest[field] ?? null) !== null);
  if (stored !== undefined) {
    throw new ModelCallFault(
      400,
      `What is stored at the provider isn't available here. Leave out ${stored}.`,
    );
  }
  const { tools: _tools, ...content } = rest;
  if (hasLinkedContent(content)) {
    throw new ModelCallFault(
      400,
      "Send images and files as data, not as links or ids that the provider would follow.",
    );
  }
  return rest;
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

/** By the limits that the API reads: others would only make a call look smaller than it is. */
function expectedOutput(format: UsageFormat, body: Body): number {
  const { generationConfig: camel, generation_config: snake } = body;
  switch (format) {
    case "anthropic":
      return most(body.max_tokens) ?? EXPECTED_OUTPUT_TOKENS;
    case "openai-chat":
      return (most(body.max_tokens, body.max_completion_tokens) ?? EXPECTED_OUTPUT_TOKENS) * (body.n ?? 1);
    case "openai-responses":
      return most(body.max_output_tokens) ?? EXPECTED_OUTPUT_TOKENS;
    case "gemini":
      return (
        (most(
          camel?.maxOutputTokens,
          camel?.max_output_tokens,
          snake?.maxOutputTokens,
          snake?.max_output_tokens,
        ) ?? EXPECTED_OUTPUT_TOKENS) *
        (most(camel?.candidateCount, camel?.candidate_count, snake?.candidateCount, snake?.candidate_count) ??
          1)
      );
  }
}

function most(...limits: (number | undefined)[]): number | undefined {
  const given = limits.filter((limit) => limit !== undefined);
  return given.length === 0 ? undefined : Math.max(...given);
}

function withAgentTools(
  request: Record<string, unknown>,
  tools: readonly unknown[] | null,
  format: UsageFormat,
): Record<string, unknown> {
  if (tools === null) return request;
  const { tools: _tools, ...rest } = request;
  const kept = tools.flatMap((tool) => (format === "gemini" ? functionsOnly(tool) : agentToolsOnly(tool)));
  return kept.length > 0 ? { ...rest, tools: kept } : rest;
}

const Tool = z.object({
  // Anthropic's tools need none.
  type: z.string().default("custom"),
  /** Where a shell runs. */
  environment: z.object({ type: z.string() }).optional(),
  /** Of a namespace. */
  tools: z.array(z.unknown()).optional(),
});

function agentToolsOnly(tool: unknown): unknown[] {
  const { data } = Tool.safeParse(tool);
  if (data === undefined || !AGENT_TOOL.test(data.type)) return [];
  if (data.environment !== undefined && data.environment.type !== "local") return [];
  return data.tools === undefined ? [tool] : [{ ...Object(tool), tools: data.tools.flatMap(agentToolsOnly) }];
}

/** A tool of Gemini is an object with one field for each kind of tool; only functions run on the agent's side. */
function functionsOnly(tool: unknown): unknown[] {
  if (typeof tool !== "object" || tool === null) return [];
  const functions = Object.entries(tool).filter(([name]) => /^function_?declarations$/i.test(name));
  return functions.length === 0 ? [] : [Object.fromEntries(functions)];
}

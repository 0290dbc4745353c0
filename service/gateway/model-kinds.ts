import type { Shape } from "./body-shape.ts";
import {
  anthropicBody,
  geminiBody,
  geminiCountBody,
  openAiChatBody,
  openAiResponsesBody,
} from "./model-bodies.ts";
import { isSameSecret } from "./http-headers.ts";
import type { UsageFormat } from "./answer-usage.ts";

export const MODEL_KINDS = ["anthropic", "openai", "gemini"] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

/** What a request to a model upstream does. */
export type ModelOperation = {
  method: "GET" | "POST";
  /** Below the upstream's base URL; begins with "/". */
  path: string;
  /** What of its body may be sent on; null: it has none. */
  body: Shape | null;
  /** How its answer reports usage; null: it costs nothing. */
  format: UsageFormat | null;
  /** The model, where the path names it. */
  model: string | null;
};

type KindTraits = {
  defaultBaseUrl: string;
  /** The header in which the upstream expects the key. */
  keyHeader: (key: string) => [name: string, value: string];
  /**
   * What agents read for this kind. `url` is the gateway's for the upstream; of `openai`, it ends
   * with the version.
   */
  variables: (url: string, key: string) => Record<string, string>;
  /**
   * What stands before the operation in the upstream's paths, given the version in the agent's; the
   * base URL of `openai` ends with it.
   */
  prefix: (version: string | undefined) => string;
  operations: readonly OperationPattern[];
};
type OperationPattern = Pick<ModelOperation, "method" | "body" | "format"> & { path: RegExp };

// Only what agents need to run: a key can also read files, batches and other people's conversations
// at the provider.
export const KIND_TRAITS: Readonly<Record<ModelKind, KindTraits>> = {
  anthropic: {
    defaultBaseUrl: "https://api.anthropic.com",
    keyHeader: (key) => ["x-api-key", key],
    variables: (url, key) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key }),
    prefix: () => "/v1",
    operations: [
      { method: "POST", path: /^\/messages$/, body: anthropicBody, format: "anthropic" },
      { method: "POST", path: /^\/messages\/count_tokens$/, body: anthropicBody, format: null },
      { method: "GET", path: /^\/models(?:\/[^/]+)?$/, body: null, format: null },
    ],
  },
  openai: {
    defaultBaseUrl: "https://api.openai.com/v1",
    keyHeader: (key) => ["authorization", `Bearer ${key}`],
    variables: (url, key) => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: key }),
    prefix: () => "",
    operations: [
      { method: "POST", path: /^\/chat\/completions$/, body: openAiChatBody, format: "openai-chat" },
      {
        method: "POST",
        path: /^\/responses(?:\/compact)?$/,
        body: openAiResponsesBody,
        format: "openai-responses",
      },
      { method: "GET", path: /^\/models(?:\/[^/]+)?$/, body: null, format: null },
    ],
  },
  gemini: {
    defaultBaseUrl: "https://generativelanguage.googleapis.com",
    keyHeader: (key) => ["x-goog-api-key", key],
    variables: (url, key) => ({
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_API_KEY: key,
      GOOGLE_GENERATIVE_AI_API_KEY: key,
    }),
    prefix: (version = "v1beta") => `/${version}`,
    operations: [
      {
        method: "POST",
        path: /^\/models\/(?<model>[^/:]+):(?:generateContent|streamGenerateContent)$/,
        body: geminiBody,
        format: "gemini",
      },
      { method: "POST", path: /^\/models\/[^/:]+:countTokens$/, body: geminiCountBody, format: null },
      { method: "GET", path: /^\/models(?:\/[^/:]+)?$/, body: null, format: null },
    ],
  },
};

/** No percent signs and no empty segments: what we compare is what the upstream reads. */
const PLAIN_PATH = /^(?:\/[A-Za-z0-9._:@-]+)+$/;
const VERSION = /^\/(v\d+(?:alpha|beta)?\d*)(?=\/)/;

/**
 * Parts of a request's target at the gateway: `/models/<upstream>/<path>?<query>`; null if it isn't
 * one.
 */
export function parseModelTarget(
  target: string,
): { upstream: string; path: string; query: URLSearchParams } | null {
  const [, upstream, path, query] = /^\/models\/([a-z0-9-]+)(\/[^?#]*)(?:\?([^#]*))?$/.exec(target) ?? [];
  if (upstream === undefined || path === undefined) return null;
  return { upstream, path, query: new URLSearchParams(query ?? "") };
}

/**
 * The operation that a path names, whether or not the agent's SDK puts a version before it; null
 * for one that isn't let through.
 */
export function findOperation(kind: ModelKind, method: string, path: string): ModelOperation | null {
  if (!PLAIN_PATH.test(path) || path.split("/").some((part) => part === "." || part === "..")) return null;
  const version = VERSION.exec(path)?.[1];
  const rest = version === undefined ? path : path.slice(version.length + 1);
  const { operations, prefix } = KIND_TRAITS[kind];
  for (const operation of operations) {
    const match = operation.method === method ? operation.path.exec(rest) : null;
    if (match === null) continue;
    return { ...operation, path: `${prefix(version)}${rest}`, model: match.groups?.["model"] ?? null };
  }
  return null;
}

/**
 * Where an operation goes: below the base URL, whether or not that was copied with the version that
 * the operation's path has.
 */
export function upstreamUrl(kind: ModelKind, baseUrl: string, { path }: ModelOperation): URL {
  const url = new URL(baseUrl);
  const below = url.pathname.replace(/\/+$/, "");
  url.pathname = `${kind === "openai" ? below : below.replace(/\/v\d+(?:alpha|beta)?\d*$/, "")}${path}`;
  return url;
}

/** True if a request carries the placeholder key, in any of the places where SDKs put keys. */
export function carriesKey(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  query: URLSearchParams,
  placeholder: string,
): boolean {
  const bearer = /^Bearer +(\S+) *$/i.exec(String(headers["authorization"] ?? ""))?.[1];
  const given = [bearer, headers["x-api-key"], headers["x-goog-api-key"], query.get("key")];
  return given.some((value) => typeof value === "string" && isSameSecret(value, placeholder));
}

import type { Shape } from "./body-shape.ts";
import * as bodies from "./model-bodies.ts";
import { isSameSecret } from "./http-headers.ts";
import type { UsageFormat } from "./answer-usage.ts";

export const MODEL_KINDS = ["anthropic", "openai", "gemini"] as const;
export type ModelKind = (typeof MODEL_KINDS)[number];

/** An operation of a model upstream's API. */
export type ModelOperation = {
  /** The path below the upstream's base URL. It begins with "/". */
  path: string;
  /** The shape of its body, which is sent by POST. Null if it has none, and is sent by GET. */
  body: Shape | null;
  /** The format in which its answer reports usage. Null if it costs nothing. */
  format: UsageFormat | null;
  /** The model that the path names, if it does. */
  model: string | null;
};

type KindTraits = {
  defaultBaseUrl: string;
  /** The header with the upstream's key. */
  keyHeader: (key: string) => [name: string, value: string];
  /**
   * The variables that agents of this kind read. `url` is the gateway's address for the upstream.
   * For `openai`, it ends with the version.
   */
  variables: (url: string, key: string) => Record<string, string>;
  /**
   * The part of the upstream's path before the operation, given the version in the agent's path.
   * The base URL of `openai` already ends with the version.
   */
  prefix: (version: string | undefined) => string;
  operations: readonly OperationPattern[];
};
type OperationPattern = Pick<ModelOperation, "body" | "format"> & { path: RegExp };

// Only what agents need to run. With the same key, one could also read files, batches and other
// people's conversations at the provider.
export const KIND_TRAITS: Readonly<Record<ModelKind, KindTraits>> = {
  anthropic: {
    defaultBaseUrl: "https://api.anthropic.com",
    keyHeader: (key) => ["x-api-key", key],
    variables: (url, key) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: key }),
    prefix: () => "/v1",
    operations: [
      { path: /^\/messages$/, body: bodies.anthropic, format: "anthropic" },
      { path: /^\/messages\/count_tokens$/, body: bodies.anthropic, format: null },
      { path: /^\/models(?:\/[^/]+)?$/, body: null, format: null },
    ],
  },
  openai: {
    defaultBaseUrl: "https://api.openai.com/v1",
    keyHeader: (key) => ["authorization", `Bearer ${key}`],
    variables: (url, key) => ({ OPENAI_BASE_URL: url, OPENAI_API_KEY: key }),
    prefix: () => "",
    operations: [
      { path: /^\/chat\/completions$/, body: bodies.openAiChat, format: "openai-chat" },
      { path: /^\/responses(?:\/compact)?$/, body: bodies.openAiResponses, format: "openai-responses" },
      { path: /^\/models(?:\/[^/]+)?$/, body: null, format: null },
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
        path: /^\/models\/(?<model>[^/:]+):(?:generateContent|streamGenerateContent)$/,
        body: bodies.gemini,
        format: "gemini",
      },
      { path: /^\/models\/[^/:]+:countTokens$/, body: bodies.geminiCount, format: null },
      { path: /^\/models(?:\/[^/:]+)?$/, body: null, format: null },
    ],
  },
};

/** Without percent signs and empty segments, we compare exactly what the upstream reads. */
const PLAIN_PATH = /^(?:\/[A-Za-z0-9._:@-]+)+$/;
const VERSION = /^\/(v\d+(?:alpha|beta)?\d*)(?=\/)/;

/**
 * The parts of a request's target at the gateway: `/models/<upstream>/<path>?<query>`. Null if it
 * isn't one.
 */
export function parseModelTarget(target: string) {
  const [, upstream, path, query] = /^\/models\/([a-z0-9-]+)(\/[^?#]*)(?:\?([^#]*))?$/.exec(target) ?? [];
  if (upstream === undefined || path === undefined) return null;
  return { upstream, path, query: new URLSearchParams(query ?? "") };
}

/**
 * The operation that a path names, with or without a version before it, as SDKs differ. Null if the
 * operation isn't allowed.
 */
export function findOperation(kind: ModelKind, method: string, path: string): ModelOperation | null {
  if (!PLAIN_PATH.test(path) || path.split("/").some((part) => part === "." || part === "..")) return null;
  const version = VERSION.exec(path)?.[1];
  const rest = version === undefined ? path : path.slice(version.length + 1);
  const { operations, prefix } = KIND_TRAITS[kind];
  for (const operation of operations) {
    const isAsked = method === (operation.body === null ? "GET" : "POST");
    const match = isAsked ? operation.path.exec(rest) : null;
    if (match === null) continue;
    return { ...operation, path: `${prefix(version)}${rest}`, model: match.groups?.["model"] ?? null };
  }
  return null;
}

/**
 * The address of an operation. The base URL may have been copied with or without the version in the
 * operation's path.
 */
export function upstreamUrl(kind: ModelKind, baseUrl: string, { path }: ModelOperation): URL {
  const url = new URL(baseUrl);
  const below = url.pathname.replace(/\/+$/, "");
  url.pathname = `${kind === "openai" ? below : below.replace(/\/v\d+(?:alpha|beta)?\d*$/, "")}${path}`;
  return url;
}

/** The headers in which SDKs put keys. */
export const KEY_HEADERS = ["authorization", "x-api-key", "x-goog-api-key"] as const;

/** The keys that a request's headers carry, in the forms of all kinds. */
export function keysIn(headers: Readonly<Record<string, string | string[] | undefined>>): string[] {
  return KEY_HEADERS.flatMap((name) => {
    const value = headers[name];
    if (typeof value !== "string") return [];
    return name === "authorization" ? (/^Bearer +(\S+) *$/i.exec(value)?.[1] ?? []) : [value];
  });
}

/** True if a request carries the placeholder key, in any of the places where SDKs put keys. */
export function carriesKey(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  query: URLSearchParams,
  placeholder: string,
): boolean {
  const given = [...keysIn(headers), query.get("key") ?? ""];
  return given.some((value) => isSameSecret(value, placeholder));
}

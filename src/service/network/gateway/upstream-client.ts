import type { IncomingMessage } from "node:http";
import { type Dispatcher, request as sendRequest } from "undici";
import { codeOrNameOf } from "../../../shared/errors.ts";
import { admitBetas, type AllowedBesides, type AllowedExtras } from "./body-shape.ts";
import { pickHeaders } from "./http-headers.ts";
import { ModelCallFault } from "./model-trouble.ts";
import { KNOWN_BETAS } from "./model-bodies.ts";
import { KIND_TRAITS, type ModelKind, type ModelOperation, upstreamUrl } from "./model-kinds.ts";
import type { NetworkLimits, TurnTraffic } from "../limits.ts";
import type { PriceTable } from "./turn-budget.ts";

/** A provider of models and its key. */
export type ModelUpstream = {
  name: string;
  kind: ModelKind;
  baseUrl: string;
  key: string;
  /** The variable with the key. */
  keyEnv: string;
  prices: PriceTable;
  allow: AllowedExtras;
};

/** A request to a model upstream that may be made. */
export type FoundCall = {
  upstream: ModelUpstream;
  operation: ModelOperation;
  query: URLSearchParams;
  admission: AllowedBesides;
};
/** `request`: its headers are handed on, as far as they are the agent's to choose. */
type UpstreamRequest = FoundCall & { request: IncomingMessage; signal: AbortSignal };

/** Everything else is ours to set: keys, encodings, and the account that pays. */
const REQUEST_HEADERS = new RegExp(
  String.raw`^(?:accept|content-type|user-agent|anthropic-version|x-stainless-.*|` +
    String.raw`x-goog-api-client|http-referer|x-title|originator|session[-_]id)$`,
);
/** Other parameters could choose a key or leave usage out of the answer. */
const QUERY_PARAMETERS = ["alt", "beta", "limit", "after", "after_id", "before_id", "pageSize", "pageToken"];
/** Errors after which the upstream may have received the request. */
const AFTER_SENDING = new RegExp(
  String.raw`^(?:ECONNRESET|EPIPE|ABORT_ERR|UND_ERR_(?:SOCKET|ABORTED|HEADERS_TIMEOUT|` +
    String.raw`HEADERS_OVERFLOW|RES_EXCEEDED.*))$|^HPE_`,
);

type UpstreamClientDeps = { dispatcher: Dispatcher; limits: NetworkLimits; traffic: TurnTraffic };

/**
 * Creates the client of one turn. It sends requests with the real keys, and rejects with a
 * {@link ModelCallFault} if there is no answer.
 */
export function createUpstreamClient({ dispatcher, limits, traffic }: UpstreamClientDeps) {
  /** The upstreams that refuse the fields that we add to a call. */
  const takesPlainOnly = new Set<string>();

  async function send(
    { upstream, operation, query, request, admission, signal }: UpstreamRequest,
    body: string | null,
  ): Promise<Dispatcher.ResponseData> {
    const { kind, baseUrl, key } = upstream;
    const url = upstreamUrl(kind, baseUrl, operation);
    for (const parameter of QUERY_PARAMETERS) {
      const value = query.get(parameter);
      if (value === null) continue;
      // Usage can't be read from other formats.
      if (parameter === "alt" && value !== "sse" && value !== "json") {
        throw new ModelCallFault(400, "Ask for alt=sse or alt=json.");
      }
      url.searchParams.set(parameter, value);
    }
    const [keyHeader, keyValue] = KIND_TRAITS[kind].keyHeader(key);
    const headers = {
      ...pickHeaders(request.headers, (header) => REQUEST_HEADERS.test(header)),
      ...admitBetas(request.headers, KNOWN_BETAS, admission),
      // Without compression, usage and keys can be found in the answer.
      "accept-encoding": "identity",
      ...(body === null ? {} : { "content-type": "application/json" }),
      [keyHeader]: keyValue,
    };
    traffic.meter().out(body === null ? 0 : Buffer.byteLength(body));
    try {
      return await sendRequest(url, {
        dispatcher,
        method: body === null ? "GET" : "POST",
        headers,
        body,
        signal,
        headersTimeout: limits.modelHeadersMs,
        bodyTimeout: limits.modelPauseMs,
      });
    } catch (thrown) {
      const text = `The model provider can't be reached (${errorCodeOf(thrown)}).`;
      throw new ModelCallFault(502, text, { cause: thrown });
    }
  }

  return async (
    to: UpstreamRequest,
    { body, plainBody }: { body: string | null; plainBody: string | null },
  ): Promise<Dispatcher.ResponseData> => {
    const { name } = to.upstream;
    if (plainBody === null || takesPlainOnly.has(name)) return send(to, plainBody ?? body);
    const answered = await send(to, body);
    if (answered.statusCode !== 400 && answered.statusCode !== 422) return answered;
    // It was refused, so it cost nothing. If the call works without the fields that we added, they
    // were the reason.
    await answered.body.dump();
    const again = await send(to, plainBody);
    if (again.statusCode < 400) takesPlainOnly.add(name);
    return again;
  };
}

/** True if a call without an answer may have reached the upstream. */
export function mayHaveCost(thrown: unknown): boolean {
  return (
    thrown instanceof ModelCallFault && thrown.status === 502 && AFTER_SENDING.test(errorCodeOf(thrown.cause))
  );
}

/** What went wrong, in one word. */
export function errorCodeOf(thrown: unknown): string {
  return thrown instanceof Error && thrown.name === "AbortError" ? "ABORT_ERR" : codeOrNameOf(thrown);
}

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Dispatcher } from "undici";
import type { Logger } from "../../core/logger.ts";
import { AnswerUsage, estimateTokens } from "./answer-usage.ts";
import type { NetworkLimits } from "./limits.ts";
import { prepareCall } from "./model-call.ts";
import { ModelCallFault } from "./model-call-fault.ts";
import { carriesKey, findOperation, type ModelOperation, parseModelTarget } from "./model-kinds.ts";
import { costUsdOf, type ModelPrice, priceOf } from "./prices.ts";
import { sendAnswer } from "./send-answer.ts";
import { type TurnTraffic, trafficReason } from "./traffic.ts";
import type { Spending, TurnBudget } from "./turn-budget.ts";
import { createUpstreamClient, mayHaveCost, type ModelUpstream } from "./upstream-client.ts";
import { type CallUsage, NO_USAGE, type UsageFormat } from "./usage-formats.ts";

export type ModelGatewayDeps = {
  upstreams: readonly ModelUpstream[];
  /** What agents send in place of the keys. */
  placeholderKey: string;
  limits: NetworkLimits;
  budget: TurnBudget;
  traffic: TurnTraffic;
  dispatcher: Dispatcher;
  logger: Logger;
  /** Ends every call. */
  signal: AbortSignal;
};

/** Answers requests to `/models/<upstream>/…` with what the upstream answers. Never rejects. */
export type ModelGateway = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

type FoundCall = { upstream: ModelUpstream; operation: ModelOperation; query: URLSearchParams };
type Exchange = FoundCall & { request: IncomingMessage; response: ServerResponse; signal: AbortSignal };

/** Makes the gateway of one turn. */
export function createModelGateway(deps: ModelGatewayDeps): ModelGateway {
  const { limits, budget, traffic } = deps;
  const places = new Places(limits.modelCalls);
  const client = createUpstreamClient(deps);

  async function answer(exchange: Exchange): Promise<void> {
    const { upstream, operation, request, signal } = exchange;
    if (traffic.isExceeded) throw new ModelCallFault(429, trafficReason(traffic.maxBytes));
    if (operation.format !== null && budget.reason !== null) throw new ModelCallFault(429, budget.reason);
    using _place = await places.take(signal);
    const body = operation.method === "GET" ? null : await readBody(request, limits);
    if (operation.format !== null && body !== null) {
      await answerCounted(exchange, operation.format, body);
      return;
    }
    const answered = await client.send(exchange, body);
    await sendAnswer(answered, { ...exchange, limits, meter: traffic.meter(hostOf(upstream)), usage: null });
  }

  async function answerCounted(exchange: Exchange, format: UsageFormat, body: Buffer): Promise<void> {
    const { upstream, operation, signal } = exchange;
    const call = prepareCall(format, operation.model, body);
    const price = priceOf(upstream.prices, call.model);
    if (price === null && budget.isInMoney) throw noPrice(upstream.name, call.model);
    const charge = await budget.admit(spendingOf(call.expected, price), signal);
    if (charge === null) throw new ModelCallFault(429, budget.reason ?? "The call was ended.");

    const startMs = performance.now();
    const nothing = { usage: NO_USAGE, isEstimate: false };
    let total = () => ({
      usage: { ...NO_USAGE, inputTokens: estimateTokens(body.length) },
      isEstimate: true,
    });
    let status: number | null = null;
    try {
      const answered = await client.sendCall(exchange, call);
      status = answered.statusCode;
      if (status === 401) deps.logger.error({ upstream: upstream.name }, "model upstream refused the key");
      // Providers don't charge for them.
      const isRefused = status >= 300;
      const contentType = String(answered.headers["content-type"]);
      const usage = isRefused ? null : new AnswerUsage(format, body.length, contentType);
      total = () => usage?.total() ?? nothing;
      await sendAnswer(answered, {
        ...exchange,
        limits,
        meter: traffic.meter(hostOf(upstream)),
        usage,
        onUsed: (known) => charge.update(spendingOf(known, price)),
      });
    } catch (thrown) {
      if (status === null && !mayHaveCost(thrown)) total = () => nothing;
      throw thrown;
    } finally {
      const { usage, isEstimate } = total();
      charge.settle(spendingOf(usage, price));
      const { inputTokens, outputTokens } = usage;
      const ms = Math.round(performance.now() - startMs);
      const fields = { upstream: upstream.name, status, ms, inputTokens, outputTokens, isEstimate };
      deps.logger.info(fields, "model call ended");
    }
  }

  return async (request, response) => {
    const ended = new AbortController();
    response.once("close", () => ended.abort());
    const signal = AbortSignal.any([ended.signal, deps.signal]);
    try {
      await answer({ ...findCall(deps, request), request, response, signal });
    } catch (thrown) {
      if (response.destroyed) return;
      if (response.headersSent || !(thrown instanceof ModelCallFault)) response.destroy();
      else answerFault(response, thrown);
    }
  };
}

function findCall({ upstreams, placeholderKey }: ModelGatewayDeps, request: IncomingMessage): FoundCall {
  const target = parseModelTarget(request.url ?? "");
  if (target === null) {
    throw new ModelCallFault(404, "There is nothing at this address. Models are below /models/<upstream>.");
  }
  const { query } = target;
  if (!carriesKey(request.headers, query, placeholderKey)) {
    throw new ModelCallFault(401, "Send the key of this turn, as it is in the environment.");
  }
  const upstream = upstreams.find(({ name }) => name === target.upstream);
  if (upstream === undefined)
    throw new ModelCallFault(404, "This project has no model upstream of that name.");
  const operation = findOperation(upstream.kind, request.method ?? "", target.path);
  if (operation === null) {
    throw new ModelCallFault(404, `Only model calls and lists of models pass, not ${request.method} here.`);
  }
  return { upstream, operation, query };
}

async function readBody(
  request: IncomingMessage,
  { modelRequestBytes: maxBytes, modelRequestMs }: NetworkLimits,
): Promise<Buffer> {
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") throw new ModelCallFault(415, "Send the body without compression.");
  const chunks: Buffer[] = [];
  let bytes = 0;
  // It holds a place that others wait for.
  const late = setTimeout(() => request.destroy(), modelRequestMs);
  try {
    for await (const chunk of request) {
      if (!Buffer.isBuffer(chunk)) continue;
      bytes += chunk.length;
      if (bytes > maxBytes) throw new ModelCallFault(413, `Send at most ${maxBytes} bytes.`);
      chunks.push(chunk);
    }
  } finally {
    clearTimeout(late);
  }
  return Buffer.concat(chunks);
}

function noPrice(upstream: string, model: string): ModelCallFault {
  const shown = model.replaceAll(/[^\w./:@-]/g, "?").slice(0, 100);
  return new ModelCallFault(
    403,
    `The model ${shown} has no price, so it can't be counted against the turn's budget. An operator can add it to prices of the model upstream ${upstream}.`,
  );
}

function spendingOf(usage: CallUsage, price: ModelPrice | null): Spending {
  return { ...usage, usd: price === null ? null : costUsdOf(usage, price) };
}

function hostOf({ baseUrl }: ModelUpstream): string {
  return new URL(baseUrl).hostname;
}

/** In a form that the SDKs of all kinds show to people. */
function answerFault(response: ServerResponse, { status, type, message }: ModelCallFault): void {
  const headers = {
    "content-type": "application/json",
    // What is refused here stays refused: SDKs of OpenAI and Anthropic ask this before they try again.
    ...(status < 500 ? { "x-should-retry": "false" } : {}),
    connection: "close",
  };
  response.writeHead(status, headers).end(JSON.stringify({ type: "error", error: { type, message } }));
}

/** Lets so many in at once; others wait in line. */
class Places {
  #free: number;
  readonly #line: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async take(signal: AbortSignal): Promise<Disposable> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#line.push(resolve));
    const place = {
      [Symbol.dispose]: () => {
        const next = this.#line.shift();
        if (next === undefined) this.#free += 1;
        else next();
      },
    };
    if (!signal.aborted) return place;
    place[Symbol.dispose]();
    throw new ModelCallFault(429, "The call was ended.");
  }
}

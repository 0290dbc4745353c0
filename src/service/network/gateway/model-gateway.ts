import type { IncomingMessage, ServerResponse } from "node:http";
import type { Dispatcher } from "undici";
import { CRUMBS, isInCrumbs } from "../../../shared/machine/listen.ts";
import { AnswerUsage, type CallUsage, NO_USAGE, type UsageFormat } from "./answer-usage.ts";
import { admit, type AllowedBesides, type LeftOutKind } from "./body-shape.ts";
import { type NetworkLimits, trafficReason, type TurnLogger, type TurnTraffic } from "../limits.ts";
import { type ModelCall, parseRequest, prepareCall } from "./model-call.ts";
import { carriesKey, findOperation, parseModelTarget } from "./model-kinds.ts";
import {
  faultAnswer,
  ModelCallFault,
  type ModelTrouble,
  shownModel,
  troubleOf,
  UPGRADE_REQUIRED,
} from "./model-trouble.ts";
import { keyPattern, type KeyPattern, sendAnswer } from "./send-answer.ts";
import { costUsdOf, type ModelPrice, priceOf, type Spending, type TurnBudget } from "./turn-budget.ts";
import {
  createUpstreamClient,
  errorCodeOf,
  type FoundCall,
  mayHaveCost,
  type ModelUpstream,
} from "./upstream-client.ts";

export type ModelGatewayDeps = {
  upstreams: readonly ModelUpstream[];
  /** The key that agents send in place of the real ones. */
  placeholderKey: string;
  limits: NetworkLimits;
  budget: TurnBudget;
  traffic: TurnTraffic;
  dispatcher: Dispatcher;
  logger: TurnLogger;
  /** Called after each counted call with what is wrong with its upstream, or null. */
  onTrouble: (trouble: ModelTrouble | null) => void;
  /** Called each time something was left out of a call. */
  onLeftOut: (what: LeftOut) => void;
  /** When this aborts, every call ends. */
  signal: AbortSignal;
};

/**
 * A field, tool or beta of a call that isn't known to be safe. `kind` is the setting under `allow`
 * that would let it pass.
 */
export type LeftOut = { upstream: string; kind: LeftOutKind; name: string };

type Exchange = FoundCall & { request: IncomingMessage; response: ServerResponse; signal: AbortSignal };

/** `status` is null if there was no answer, and `code` may then say why. */
type EndedCall = {
  model: string;
  status: number | null;
  code: string | null;
  ms: number;
  usage: CallUsage;
  isEstimate: boolean;
};

const ENDED = "The call was ended.";

/**
 * The gateway of one turn. It answers requests to `/models/<upstream>/…` with the upstream's
 * answers.
 */
export class ModelGateway {
  readonly #deps: ModelGatewayDeps;
  readonly #places: Places;
  readonly #send: ReturnType<typeof createUpstreamClient>;
  readonly #keys: ReadonlyMap<string, KeyPattern | null>;
  readonly #calls = new Set<Promise<void>>();

  constructor(deps: ModelGatewayDeps) {
    this.#deps = deps;
    this.#places = new Places(deps.limits.modelCalls);
    this.#send = createUpstreamClient(deps);
    this.#keys = new Map(deps.upstreams.map(({ name, key }) => [name, keyPattern(key)]));
  }

  /** Never rejects. */
  answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answered = this.#answerOrRefuse(request, response).finally(() => this.#calls.delete(answered));
    this.#calls.add(answered);
    return answered;
  }

  /** Resolves when no call is under way anymore. */
  async callsEnded(): Promise<void> {
    await Promise.all(this.#calls);
  }

  async #answerOrRefuse(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const ended = new AbortController();
    response.once("close", () => ended.abort());
    const signal = AbortSignal.any([ended.signal, this.#deps.signal]);
    try {
      await this.#answer({ ...findCall(this.#deps, request), request, response, signal });
    } catch (thrown) {
      if (response.destroyed) return;
      if (response.headersSent || !(thrown instanceof ModelCallFault)) response.destroy();
      else {
        const { status, headers, body } = faultAnswer(thrown);
        response.writeHead(status, headers).end(body);
      }
    }
  }

  async #answer(exchange: Exchange): Promise<void> {
    const { limits, budget, traffic } = this.#deps;
    const { operation, admission, signal } = exchange;
    if (traffic.isExceeded) throw new ModelCallFault(429, trafficReason(traffic.maxBytes));
    if (operation.format !== null && budget.reason !== null) throw new ModelCallFault(429, budget.reason);
    using _place = await this.#places.take(signal);
    const { body: shape, format, model: pathModel } = operation;
    const given = shape && (await readBody(exchange, limits));
    const body = shape && given && admit(shape, parseRequest(given), admission);
    if (given !== null && body !== null && format !== null) {
      const call = prepareCall({ format, pathModel }, body, given.length);
      await this.#answerCounted(exchange, format, call);
      return;
    }
    const answered = await this.#send(exchange, { body: body && JSON.stringify(body), plainBody: null });
    await sendAnswer(answered, this.#toAgent(exchange));
  }

  /** What both kinds of answers are handed on with. */
  #toAgent({ upstream, response, signal }: Exchange) {
    const { limits, traffic } = this.#deps;
    return { response, signal, key: this.#keys.get(upstream.name) ?? null, limits, meter: traffic.meter() };
  }

  /** Charges the call to the budget: first what it may use, and in the end what it has used. */
  async #answerCounted(exchange: Exchange, format: UsageFormat, call: ModelCall): Promise<void> {
    const { upstream, signal } = exchange;
    const { budget } = this.#deps;
    const price = this.#priceOf(upstream, call);
    const charge = await budget.admit(spendingOf(call.expected, price), signal);
    if (charge === null) throw new ModelCallFault(429, budget.reason ?? ENDED);

    const startMs = performance.now();
    const nothing = { usage: NO_USAGE, isEstimate: false };
    let total = () => ({ usage: call.expected, isEstimate: true });
    let status: number | null = null;
    let code: string | null = null;
    try {
      const answered = await this.#send(exchange, call);
      status = answered.statusCode;
      if (status === 401) this.#refusedKey(upstream);
      // Providers don't charge for these.
      const isRefused = status >= 300;
      const contentType = String(answered.headers["content-type"]);
      const usage = isRefused ? null : new AnswerUsage(format, call.expected, contentType);
      total = () => usage?.total() ?? nothing;
      const onUsed = (known: CallUsage) => charge.update(spendingOf(known, price));
      await sendAnswer(answered, { ...this.#toAgent(exchange), usage, onUsed });
    } catch (thrown) {
      if (status === null && !mayHaveCost(thrown)) total = () => nothing;
      if (status === null) code = errorCodeOf(thrown instanceof ModelCallFault ? thrown.cause : thrown);
      throw thrown;
    } finally {
      const counted = total();
      charge.settle(spendingOf(counted.usage, price));
      const ms = Math.round(performance.now() - startMs);
      this.#tell(exchange, { ...counted, model: call.model, status, code, ms });
    }
  }

  /** The price of a call. Null if it has none, which only a budget without money allows. */
  #priceOf({ name, prices }: ModelUpstream, { model }: ModelCall): ModelPrice | null {
    const price = priceOf(prices, model);
    if (price !== null || !this.#deps.budget.isInMoney) return price;
    throw new ModelCallFault(
      403,
      `The model ${shownModel(model)} has no price, so it can't be counted against the turn's ` +
        `budget. An operator can add it to prices of the model upstream ${name}.`,
    );
  }

  #refusedKey({ name, keyEnv }: ModelUpstream): void {
    this.#deps.logger.error({ upstream: name, key_env: keyEnv }, "model upstream refused the key");
  }

  /** Logs a call that has ended, and reports whether it says that something is wrong upstream. */
  #tell({ upstream, signal }: Exchange, ended: EndedCall): void {
    const { logger, onTrouble } = this.#deps;
    const { model, status, code, ms, isEstimate } = ended;
    const { inputTokens, outputTokens } = ended.usage;
    const { name } = upstream;
    const used = { input_tokens: inputTokens, output_tokens: outputTokens, is_estimate: isEstimate };
    // If the agent or the turn's end interrupted the call, this says nothing about the upstream.
    const isBrokenOff = status === null && signal.aborted;
    if (!isBrokenOff) onTrouble(troubleOf(upstream, { model, status, code }));
    if (status !== null || isBrokenOff) {
      logger.info({ upstream: name, ms, status, ...used }, "model call ended");
    } else logger.warn({ upstream: name, ms, code }, "model upstream can't be reached");
  }
}

function findCall(
  { upstreams, placeholderKey, onLeftOut }: ModelGatewayDeps,
  request: IncomingMessage,
): FoundCall {
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
  // After this answer, Codex continues over HTTP at once. After any other, it tries five more times
  // (its tests, websocket_fallback.rs).
  if (request.headers.upgrade !== undefined) {
    throw new ModelCallFault(UPGRADE_REQUIRED, "WebSockets aren't available here. Use HTTP.");
  }
  const operation = findOperation(upstream.kind, request.method ?? "", target.path);
  if (operation === null) {
    throw new ModelCallFault(404, `Only model calls and lists of models pass, not ${request.method} here.`);
  }
  const { name, allow: extras } = upstream;
  const admission: AllowedBesides = {
    extras,
    onLeftOut: (kind, left) => onLeftOut({ upstream: name, kind, name: left }),
  };
  return { upstream, operation, query, admission };
}

async function readBody(
  { request, response }: Exchange,
  { modelRequestBytes: maxBytes, modelRequestMs }: NetworkLimits,
): Promise<Buffer> {
  const encoding = request.headers["content-encoding"] ?? "identity";
  if (encoding !== "identity") throw new ModelCallFault(415, "Send the body without compression.");
  // Whoever asked first hears of a refusal without sending the rest.
  if (request.headers.expect !== undefined) response.writeContinue();
  const chunks: Buffer[] = [];
  let bytes = 0;
  // A request that doesn't arrive would hold a place that others wait for.
  const late = setTimeout(() => request.destroy(), modelRequestMs);
  try {
    for await (const chunk of request) {
      if (!Buffer.isBuffer(chunk)) continue;
      bytes += chunk.length;
      if (bytes > maxBytes) throw new ModelCallFault(413, `Send at most ${maxBytes} bytes.`);
      chunks.push(chunk);
      if (isInCrumbs(chunks.length, bytes)) throw new ModelCallFault(400, CRUMBS);
    }
  } finally {
    clearTimeout(late);
  }
  return Buffer.concat(chunks);
}

function spendingOf(usage: CallUsage, price: ModelPrice | null): Spending {
  return { ...usage, usd: price === null ? null : costUsdOf(usage, price) };
}

/** Lets this many in at once. Others wait in line, and leave it when they are aborted. */
class Places {
  #free: number;
  readonly #line = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  async take(signal: AbortSignal): Promise<Disposable> {
    if (this.#free > 0) this.#free -= 1;
    else {
      await new Promise<void>((resolve, reject) => {
        this.#line.add(resolve);
        signal.addEventListener("abort", () => {
          if (this.#line.delete(resolve)) reject(new ModelCallFault(429, ENDED));
        });
      });
    }
    const place = {
      [Symbol.dispose]: () => {
        const [next] = this.#line;
        if (next === undefined) this.#free += 1;
        else if (this.#line.delete(next)) next();
      },
    };
    if (!signal.aborted) return place;
    place[Symbol.dispose]();
    throw new ModelCallFault(429, ENDED);
  }
}

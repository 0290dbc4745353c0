import { randomBytes } from "node:crypto";
import type { Usage } from "../../../shared/contract/turn.ts";
import { createDispatcher } from "../../../shared/machine/dispatcher.ts";
import { DIRECT, type ProxySettings } from "../../../shared/machine/proxy.ts";
import type { NetworkLimits, TurnLogger, TurnTraffic } from "../limits.ts";
import { type LeftOut, ModelGateway } from "./model-gateway.ts";
import type { ModelTrouble } from "./model-trouble.ts";
import { type Budget, TurnBudget, type UsedBefore } from "./turn-budget.ts";
import type { ModelUpstream } from "./upstream-client.ts";

/** What one turn may call, and who hears of it. */
export type TurnModelsOptions = {
  models: readonly ModelUpstream[];
  budget: Budget;
  /** What earlier attempts of the turn used. @default nothing */
  usedBefore?: UsedBefore;
  /** Called with the usage so far whenever a model call has ended. */
  onUsage?: (usage: Usage) => void;
  /** Called when a model call has failed. */
  onTrouble?: (trouble: ModelTrouble) => void;
  /** Called each time something was left out of a model call. */
  onLeftOut?: (what: LeftOut) => void;
  /** The operator's proxy. @default direct connections */
  proxy?: ProxySettings;
};

type TurnModelsDeps = {
  /** Called with a sentence for people when the budget is exceeded. */
  onExceeded: (reason: string) => void;
  traffic: TurnTraffic;
  limits: NetworkLimits;
  logger: TurnLogger;
  /** When this aborts, every call ends. */
  signal: AbortSignal;
};

/** Puts together the gateway of one turn, its budget and its connections to the upstreams. */
export function openTurnModels(options: TurnModelsOptions, { onExceeded, ...deps }: TurnModelsDeps) {
  const { models, onTrouble, onLeftOut, proxy = DIRECT } = options;
  const onCounted = () => options.onUsage?.(usageOf(budget));
  const budget = new TurnBudget(options.budget, { onExceeded, onCounted }, options.usedBefore);
  const placeholderKey = `sk-turn-${randomBytes(24).toString("hex")}`;
  let trouble: ModelTrouble | null = null;
  const dispatcher = createDispatcher(proxy, { timeoutMs: deps.limits.connectMs });
  const gateway = new ModelGateway({
    ...deps,
    budget,
    placeholderKey,
    upstreams: models,
    dispatcher,
    onTrouble: (now) => {
      trouble = now;
      if (now !== null) onTrouble?.(now);
    },
    onLeftOut: (what) => onLeftOut?.(what),
  });
  return {
    gateway,
    /** The key that callers send in place of the real ones. */
    placeholderKey,
    /** True if the budget was exceeded. */
    isBudgetSpent: () => budget.reason !== null,
    /** The usage so far. */
    usage: () => usageOf(budget),
    /** Why the last model call failed, or null if it didn't. */
    trouble: (): ModelTrouble | null => trouble,
    /** Resolves when the last call was counted. Call this once the signal has aborted. */
    async close(): Promise<void> {
      await gateway.callsEnded();
      // Not awaited: after some resets it never resolves (`isOfPausedParser`).
      dispatcher.destroy().catch(() => {});
    },
  };
}

/** What counts toward a turn's budget of what its earlier attempts used. */
export function usedBeforeOf(usage: Usage | null): UsedBefore {
  const { inputTokens, outputTokens, costUsd } = usage ?? {};
  return { tokens: (inputTokens ?? 0) + (outputTokens ?? 0), usd: costUsd ?? 0 };
}

/** In whole numbers, whatever a call said that it may use. */
function usageOf(budget: TurnBudget) {
  const { calls, usd, ...tokens } = budget.usage();
  const whole = (count: number) => Math.min(Math.ceil(count), Number.MAX_SAFE_INTEGER);
  return {
    calls,
    inputTokens: whole(tokens.inputTokens),
    outputTokens: whole(tokens.outputTokens),
    cachedInputTokens: whole(tokens.cachedInputTokens),
    costUsd: usd,
  };
}

import picomatch from "picomatch";
import type { CallUsage } from "./usage-formats.ts";

/** US dollars per million tokens. */
export type ModelPrice = { input: number; output: number; cachedInput?: number | undefined };
/** By a model's name, or a pattern for names such as `gpt-5*`. */
export type PriceTable = Readonly<Record<string, ModelPrice>>;

/** The price of a model: by its name, or by the first pattern that fits. Case doesn't matter: it may not to the provider. Null: none is known. */
export function priceOf(prices: PriceTable, model: string): ModelPrice | null {
  const exact = Object.entries(prices).find(([name]) => name.toLowerCase() === model.toLowerCase());
  if (exact !== undefined) return exact[1];
  // As in a shell's `case`: a name may hold slashes, and a star stands for them too.
  const fitting = Object.entries(prices).find(([pattern]) =>
    picomatch(pattern, { bash: true, dot: true, nocase: true })(model),
  );
  return fitting?.[1] ?? null;
}

/** What a call costs, in US dollars. */
export function costUsdOf(usage: CallUsage, price: ModelPrice): number {
  const cached = Math.min(usage.cachedInputTokens, usage.inputTokens);
  const dollarsPerMillion =
    (usage.inputTokens - cached + usage.surchargeTokens) * price.input +
    cached * (price.cachedInput ?? price.input) +
    usage.outputTokens * price.output;
  return dollarsPerMillion / 1e6;
}

import { z } from "zod";
import { didYouMean, meantValue } from "../text/did-you-mean.ts";
import { oddSecret, oddValue, tokenKind } from "../text/odd-value.ts";

/** Reads settings from the environment, and collects what is wrong with them. */
export class SettingsReader {
  /** One sentence for each fault, in the order of reading. None contains a secret. */
  readonly faults: string[] = [];
  readonly #names = new Set<string>();
  readonly #env: Readonly<Record<string, string | undefined>>;

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.#env = env;
  }

  /**
   * An empty value counts as absent: `NAME=` in a settings file means that nobody has filled it in.
   */
  given(name: string): string | undefined {
    this.#names.add(name);
    const value = this.#env[name]?.trim();
    return value === "" ? undefined : value;
  }

  /** A setting that may be absent. `rule` follows "must be". */
  read<T>(name: string, schema: z.ZodType<T>, rule: string, fallback: T): T {
    const value = this.given(name);
    if (value === undefined) return fallback;
    const parsed = schema.safeParse(value);
    const odd = oddValue(value);
    if (parsed.success && odd === null) return parsed.data;
    this.faults.push(odd === null ? `${name} must be ${rule}.` : `${name} ${odd}`);
    return fallback;
  }

  /** One of some words, which may be absent. */
  readWord<W extends string>(name: string, words: readonly W[], fallback: W): W {
    const value = this.given(name);
    const word = words.find((each) => each === value);
    if (value === undefined || word !== undefined) return word ?? fallback;
    const meant = meantValue(value, words);
    const list = words.length > 2 ? `one of ${words.join(", ")}` : words.join(" or ");
    this.faults.push(`${name} must be ${list}.${meant === null ? "" : ` Did you mean ${meant}?`}`);
    return fallback;
  }

  /** `true` or `false`. */
  readYesOrNo(name: string): boolean {
    return this.readWord(name, ["true", "false"], "false") === "true";
  }

  /** A setting that must be given. `rule` follows "must be" and "Set it to". */
  need(name: string, schema: z.ZodType<string>, rule: string): string {
    if (this.given(name) !== undefined) return this.read(name, schema, rule, "");
    const other = this.#likelyOther(name);
    const orIsIt = other === null ? "" : ` Or give ${other}, which is set, this name.`;
    this.faults.push(`${name} is missing. Set it to ${rule}.${orIsIt}`);
    return "";
  }

  /**
   * A token or a key that must be given. `rule` follows "Set it to". Says what else was put there,
   * as far as that shows.
   */
  needSecret(name: string, schema: z.ZodType<string>, rule: string): string {
    const value = this.given(name);
    if (value === undefined) return this.need(name, schema, rule);
    const odd = oddSecret(value);
    const kind = tokenKind(value);
    const isKind = kind === null || rule.includes(kind.replace(/^.*\(/, "("));
    if (odd === null && isKind && schema.safeParse(value).success) return value;
    this.faults.push(`${name} ${odd ?? `has ${kind ?? "something else"}. Set it to ${rule}.`}`);
    return "";
  }

  /** A variable that is set, and whose name has only words of this one, such as `BOT_TOKEN`. */
  #likelyOther(name: string): string | null {
    const words = new Set(name.split("_"));
    const isPart = (other: string) => {
      const parts = other.split("_");
      return parts.length > 1 && other !== name && parts.every((part) => words.has(part));
    };
    return Object.keys(this.#env).find((other) => isPart(other) && !this.#names.has(other)) ?? null;
  }

  /** A time of at least a millisecond. */
  milliseconds(name: string, fallback: number): number {
    return this.read(name, whole(1, 1e12 - 1), "a whole number of milliseconds, at least 1", fallback);
  }

  /** A limit of requests. 0 means no limit. */
  requestsAnHour(name: string, fallback: number): number {
    const rule = "a whole number of requests an hour, or 0 for no limit";
    return this.read(name, whole(0, 999_999), rule, fallback);
  }

  /** The variables whose names begin like this, and that aren't settings. */
  unknown(prefix: string): string[] {
    return Object.keys(this.#env).filter((name) => name.startsWith(prefix) && !this.#names.has(name));
  }

  /**
   * Adds a fault for each variable that looks like a misspelled setting. Other programs use the
   * environment, too, so only likely misspellings count. Short names resemble too many others.
   */
  findMisspelled(): void {
    const unset = [...this.#names].filter((name) => name.includes("_") && this.given(name) === undefined);
    for (const name of Object.keys(this.#env)) {
      const meant = this.#names.has(name) ? null : didYouMean(name, unset);
      if (meant !== null) this.faults.push(`${name} isn't a setting. Did you mean ${meant}?`);
    }
  }
}

/** A whole number with at most as many digits as the largest one. */
export function whole(min: number, max: number): z.ZodType<number> {
  return z
    .string()
    .regex(new RegExp(`^\\d{1,${String(max).length}}$`))
    .transform(Number)
    .refine((number) => number >= min && number <= max);
}
